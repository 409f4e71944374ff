from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from mmeval.system.arguments import (
    Hint,
    PathOrName,
    as_meant,
    fault_of,
    hint_of,
    is_path,
)

Mode = Literal["loud", "quiet"]
Later = int


def test_a_value_of_the_type_has_no_fault() -> None:
    fits: list[tuple[object, Hint]] = [
        ("loud", Mode),
        (True, bool),
        (1, int),
        (1, float),
        (0.5, float),
        ("x", str),
        (None, int | None),
        (["a"], Sequence[str]),
        (("a",), list[str]),
        ([], list[Mode]),
        ("loud", Mode | list[Mode]),
        ({"a": [1]}, Mapping[str, Any]),
        ("./folder", PathOrName),
        (b"x", Any),
    ]
    assert [
        fault_of(value, hint)
        for value, hint in (*fits, ([1], "anything"), ({1}, set[str]))
    ] == [""] * 16


@pytest.mark.parametrize(
    ("value", "hint", "expected", "more"),
    [
        ("loudd", Mode, "loud or quiet", '; did you mean "loud"?'),
        (["loudd"], Mode | list[Mode], "loud or quiet or a list", ""),
        ("false", bool, "true or false", ""),
        (1, bool, "true or false", ""),
        (True, int, "a whole number", ""),
        (1.5, int, "a whole number", ""),
        (False, float, "a number", ""),
        (3, str, "a string", ""),
        ("x", int | None, "a whole number or null", ""),
        ("ab", Sequence[str], "a list, each item a string", ""),
        ([1], list[str], "a list, each item a string", ""),
        ([], Mapping[str, Any], "a mapping", ""),
        (1, Literal[True], "True", ""),
    ],
    ids=repr,
)
def test_another_value_has_a_fault_with_what_is_expected(
    value: object, hint: Hint, expected: str, more: str
) -> None:
    fault = fault_of(value, hint)
    assert fault.startswith(f"must be {expected}")
    assert fault.endswith(f", not {value!r}{more}")


def typed(  # type: ignore[no-untyped-def]
    *, mode: Mode = "loud", home: PathOrName = "", later: Later = 1, bare=None
) -> None:
    """Its annotations are strings, because the module postpones them."""


def test_annotations_are_read_as_they_are_written_and_those_that_cannot_be_resolved_are_not_checked() -> (
    None
):
    hints = {
        name: hint_of(typed, name)
        for name in ("mode", "home", "later", "bare", "absent")
    }
    assert hints == {
        "mode": Mode,
        "home": PathOrName,
        "later": int,
        "bare": Any,
        "absent": Any,
    }
    assert [name for name, hint in hints.items() if is_path("./here", hint)] == ["home"]

    def local(*, gone: NotThere = 1) -> None:  # type: ignore[name-defined]  # noqa: F821
        """As with a name that only a type checker imports."""

    assert hint_of(local, "gone") is Any


def test_none_is_the_word_where_a_type_has_it_and_no_null() -> None:
    words = Literal["some", "none"]
    assert [as_meant(value, words) for value in (None, "some", "none")] == [
        "none",
        "some",
        "none",
    ]
    assert [as_meant(None, hint) for hint in (words | None, str, Mode)] == [None] * 3
