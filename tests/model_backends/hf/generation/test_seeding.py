from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from mmeval.model_backends.hf.generation.seeding import _LOCK, seeded

CPU = torch.device("cpu")


def drawn(seed: int) -> list[float]:
    with seeded(seed, CPU):
        found: list[float] = torch.rand(3).tolist()
        return found


def test_numbers_depend_on_the_seed_alone_and_the_library_goes_on_as_before() -> None:
    first = drawn(7)
    torch.rand(5)
    assert drawn(7) == first != drawn(8)
    assert drawn(2**64 - 1) != drawn(2**64 - 2)
    before = torch.get_rng_state()
    drawn(7)
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(ValueError, match="no model"), seeded(7, CPU):
        raise ValueError("no model")
    assert torch.equal(torch.get_rng_state(), before)


def test_one_thread_draws_at_a_time() -> None:
    with ThreadPoolExecutor(1) as other:
        with seeded(1, CPU):
            assert not other.submit(_LOCK.acquire, blocking=False).result()
        assert other.submit(_LOCK.acquire, blocking=False).result()
        other.submit(_LOCK.release).result()
