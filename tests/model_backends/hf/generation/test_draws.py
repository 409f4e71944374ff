from __future__ import annotations

import threading

import pytest

from mmeval.model_backends.hf.generation.draws import seeded


def drawn(seed: int) -> list[float]:
    import torch

    with seeded(seed, torch.device("cpu")):
        found: list[float] = torch.rand(3).tolist()
        return found


def test_what_is_drawn_depends_on_the_seed_alone() -> None:
    import torch

    first = drawn(7)
    torch.rand(5)
    assert drawn(7) == first != drawn(8)


def test_the_library_goes_on_drawing_as_if_nothing_had_been_drawn() -> None:
    import torch

    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    drawn(7)
    assert torch.rand(2).tolist() == expected


def test_that_holds_when_the_model_fails() -> None:
    import torch

    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="no model"), seeded(7, torch.device("cpu")):
        raise ValueError("no model")
    assert torch.equal(torch.get_rng_state(), before)


def test_a_seed_of_the_broker_is_larger_than_the_library_takes_and_still_tells_rows_apart() -> None:
    assert drawn(2**64 - 1) != drawn(2**64 - 2)


def test_another_thread_waits_until_a_row_is_through() -> None:
    import torch

    held, entered = threading.Event(), threading.Event()

    def other() -> None:
        held.wait()
        with seeded(1, torch.device("cpu")):
            entered.set()

    thread = threading.Thread(target=other)
    thread.start()
    with seeded(2, torch.device("cpu")):
        held.set()
        assert not entered.wait(0.1)
    thread.join()
    assert entered.is_set()
