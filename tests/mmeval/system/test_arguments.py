from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest

from mmeval.system.arguments import Hint, PathOrName, fault_of, hint_of, is_path

Mode = Literal["loud", "quiet"]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
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
        ([1], "anything"),
        ({1}, set[str]),
    ],
    ids=repr,
)
def test_a_value_of_the_type_has_no_fault(value: object, hint: Hint) -> None:
    assert fault_of(value, hint) == ""


@pytest.mark.parametrize(
    ("value", "hint", "fault"),
    [
        ("loudd", Mode, "must be loud or quiet, not 'loudd'; did you mean \"loud\"?"),
        (["loudd"], Mode | list[Mode], "must be loud or quiet or a list, each loud or quiet, not ['loudd']"),
        ("false", bool, "must be true or false, not 'false'"),
        (1, bool, "must be true or false, not 1"),
        (True, int, "must be a whole number, not True"),
        (1.5, int, "must be a whole number, not 1.5"),
        (False, float, "must be a number, not False"),
        (3, str, "must be a text, not 3"),
        (3, PathOrName, "must be a text, not 3"),
        ("x", int | None, "must be a whole number or null, not 'x'"),
        ("ab", Sequence[str], "must be a list, each a text, not 'ab'"),
        ([1], list[str], "must be a list, each a text, not [1]"),
        ([], Mapping[str, Any], "must be a mapping, not []"),
        (1, Literal[True], "must be True, not 1"),
    ],
    ids=repr,
)
def test_another_value_is_told_with_what_is_expected(value: object, hint: Hint, fault: str) -> None:
    assert fault_of(value, hint) == fault


def typed(*, mode: Mode = "loud", home: PathOrName = "", later: Later = 1, bare=None) -> None:  # type: ignore[no-untyped-def]
    """Its annotations are texts, as in every module that postpones them."""


Later = int


def test_annotations_are_read_as_they_are_written() -> None:
    hints = {name: hint_of(typed, name) for name in ("mode", "home", "later", "bare", "absent")}
    assert hints == {"mode": Mode, "home": PathOrName, "later": int, "bare": Any, "absent": Any}
    assert [name for name, hint in hints.items() if is_path("./here", hint)] == ["home"]


def test_an_annotation_that_nobody_can_find_out_is_not_checked() -> None:
    def local(*, gone: NotThere = 1) -> None:  # type: ignore[name-defined]  # noqa: F821
        """As with a name that only a type checker imports."""

    assert hint_of(local, "gone") is Any
