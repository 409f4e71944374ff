from __future__ import annotations

import pytest

from mmeval.errors import Caught, StorageError, UnknownNameError, is_out_of_memory, sentence


@pytest.mark.parametrize(
    ("message", "whole"),
    [("it is not here", "it is not here."), ("it is not here.", "it is not here."), ("did you mean x?", None)],
    ids=["no mark", "a stop", "a question"],
)
def test_a_message_that_another_sentence_follows_ends_in_one_mark(message: str, whole: str | None) -> None:
    assert sentence(message) == (whole or message)


def test_a_near_name_and_a_hint_are_two_sentences() -> None:
    assert str(UnknownNameError("tool", "drawt", ["draw"], "Known: draw.")) == (
        "unknown tool 'drawt'; did you mean \"draw\"? Known: draw."
    )


def test_out_of_memory_is_known_by_its_class_or_words() -> None:
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate"))
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    assert not is_out_of_memory(RuntimeError("shape mismatch"))


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit("no")])
def test_whatever_code_of_others_raises_is_caught_and_kept(error: BaseException) -> None:
    with Caught(StorageError) as failure:
        raise error

    assert failure
    assert failure.error is error
    assert failure.reason == f"{type(error).__name__}: no"


@pytest.mark.parametrize("kind", [StorageError, KeyboardInterrupt])
def test_what_is_to_pass_and_what_ends_the_process_is_not_caught(kind: type[BaseException]) -> None:
    with pytest.raises(kind), Caught(StorageError):
        raise kind


def test_nothing_is_caught_where_nothing_is_raised() -> None:
    with Caught() as failure:
        pass

    assert not failure
