import pickle

import pytest

from mmeval.errors import (
    Caught,
    MissingExtraError,
    StorageError,
    TaskFileError,
    UnknownNameError,
    is_out_of_memory,
    raised_at,
    sentence,
)


def test_an_unknown_name_offers_near_ones_and_a_sentence_ends_in_one_mark() -> None:
    error = UnknownNameError("tool", "drawt", ["draw"], "Known: draw.")
    assert (error.name, error.known, error.how_to_fix) == (
        "drawt",
        ("draw",),
        "Known: draw.",
    )
    assert "'drawt'; did" in str(error) and str(error).endswith('"draw"? Known: draw.')
    assert [sentence(text) for text in ("not here", "not here.", "x?", "x!")] == [
        "not here.",
        "not here.",
        "x?",
        "x!",
    ]


@pytest.mark.parametrize(
    "error",
    [
        UnknownNameError("tool", "drawt", ["draw"], "Known."),
        TaskFileError("odd", file="t.yaml", line=3, name="key"),
        TaskFileError("odd", file="t.yaml"),
        MissingExtraError("av", "video"),
    ],
)
def test_errors_keep_their_fields_on_the_way_between_processes(
    error: Exception,
) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), vars(again)) == (
        type(error),
        str(error),
        vars(error),
    )


def test_out_of_memory_is_known_by_its_class_or_words() -> None:
    words = (
        "CUDA out of memory.",
        "can't allocate memory",
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
    )
    full = (MemoryError(), *map(RuntimeError, words))
    assert [is_out_of_memory(error) for error in (*full, RuntimeError("shape"))] == [
        True,
        True,
        True,
        True,
        False,
    ]


def test_whatever_code_of_others_raises_is_caught_and_kept() -> None:
    for error in (ValueError("no"), SystemExit("no")):
        with Caught(StorageError) as failure:
            raise error
        assert (bool(failure), failure.error, failure.reason) == (
            True,
            error,
            f"{type(error).__name__}: no",
        )
        assert raised_at(error).startswith(" (test_errors.py:")
        assert (raised_at(error, __file__), raised_at(ValueError())) == ("", "")


def test_what_is_to_pass_and_what_ends_the_process_is_not_caught() -> None:
    for kind in (StorageError, KeyboardInterrupt):
        with pytest.raises(kind), Caught(StorageError):
            raise kind
    with Caught() as failure:
        pass
    assert not failure
