import pickle

import pytest

from mmeval.errors import (
    MissingExtraError,
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
    restored = pickle.loads(pickle.dumps(error))
    assert (type(restored), str(restored), vars(restored)) == (
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


def test_where_code_of_others_raised_is_the_file_and_line() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        assert raised_at(error).startswith(" (test_errors.py:")


def test_an_error_of_the_caller_has_no_place() -> None:
    try:
        raise ValueError("no")
    except ValueError as error:
        assert raised_at(error, __file__) == ""


def test_an_error_that_was_not_raised_has_no_place() -> None:
    assert raised_at(ValueError()) == ""
