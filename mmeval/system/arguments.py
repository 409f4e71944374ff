"""Checks values of switches against the types of keyword arguments."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from mmeval.errors import did_you_mean

T = TypeVar("T")

Hint: TypeAlias = Any
"""A type as in an annotation. It is ``Any``, because types do not share a class."""

_LISTS = (list, Sequence)
_NOUNS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a string",
    dict: "a mapping",
    Mapping: "a mapping",
    types.NoneType: "null",
}


class FilePath:
    """Marks a string that may be a path, relative to the file that contains it.

    Names may contain a slash (``org/model``), so a path must begin with ``.``.
    """

    def is_path(self, text: str) -> bool:
        return text.startswith(".")

    def __repr__(self) -> str:
        return type(self).__name__


PathOrName: TypeAlias = Annotated[str, FilePath()]
"""A name, or the path of a file. A path in a YAML file is relative to that file."""


class Condition:
    """Marks a value with a condition beyond its type.

    ``fault(value)`` returns a description of the expected value, or an empty string if
    the value is valid.
    """

    def __init__(self, fault: Callable[[Any], str]) -> None:
        self.fault = fault


def regex_fault(pattern: str) -> str:
    """Describes the expected value if ``pattern`` is not a regular expression, or an
    empty string if it is."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"a regular expression ({error})"
    return ""


def _share_fault(value: float | None) -> str:
    return "" if value is None or 0 <= value <= 1 else "a number from 0 to 1"


Share: TypeAlias = Annotated[float, Condition(_share_fault)]
"""A number from 0 to 1, including both ends."""
OptionalShare: TypeAlias = Annotated[float | None, Condition(_share_fault)]
"""A :data:`Share`, or None."""
OneOrMore: TypeAlias = Annotated[
    int, Condition(lambda value: "" if value >= 1 else "1 or more")
]
"""A whole number that is at least 1."""
ZeroOrMore: TypeAlias = Annotated[
    int, Condition(lambda value: "" if value >= 0 else "0 or more")
]
"""A whole number that is at least 0."""
AboveZero: TypeAlias = Annotated[
    float, Condition(lambda value: "" if value > 0 else "above 0")
]
"""A number above 0."""


def hint_of(function: Callable[..., Any], name: str) -> Hint:
    """Returns the type of an argument; ``Any`` if the argument has no type or the type
    cannot be resolved."""
    annotation = getattr(function, "__annotations__", {}).get(name, Any)
    only = SimpleNamespace(__annotations__={name: annotation})
    names = getattr(function, "__globals__", {})
    try:
        return get_type_hints(only, globalns=names, include_extras=True)[name]
    # an annotation may be any expression, with names that only a type checker knows
    except Exception:
        return Any


def marks_of(hint: Hint, kind: type[T]) -> list[T]:
    """Returns the marks of one class in an ``Annotated`` type."""
    return [
        mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)
    ]


def is_path(value: Any, hint: Hint) -> bool:
    """Returns True if a value of this type is a path."""
    return isinstance(value, str) and any(
        mark.is_path(value) for mark in marks_of(hint, FilePath)
    )


def as_meant(value: Any, hint: Hint) -> Any:
    """Returns the value, or ``"none"`` for null if the type allows the word but not
    null.

    In task files, ``none`` stands for both.
    """
    if value is None and "none" in _words(hint) and not _fits(None, hint):
        return "none"
    return value


def fault_of(value: Any, hint: Hint) -> str:
    """Returns why a value does not match a type, with similar names, or an empty string
    if the value matches.

    Types that YAML cannot express are not checked.
    """
    if _fits(value, hint):
        for mark in marks_of(hint, Condition):
            if fault := mark.fault(value):
                return f"must be {fault}, not {value!r:.80}"
        return ""
    near = did_you_mean(value, _words(hint)) if isinstance(value, str) else ""
    return f"must be {_expected(hint)}, not {value!r:.80}{near}"


class _TypeParts(NamedTuple):
    """A type in parts: ``list[str]`` is ``list``, ``(str,)``."""

    kind: Any
    arguments: tuple[Hint, ...]


def _type_parts(hint: Hint) -> _TypeParts:
    kind: Any = get_origin(hint)
    if kind is Annotated:
        return _type_parts(get_args(hint)[0])
    if kind in (Union, types.UnionType):
        kind = "union"
    return _TypeParts(kind or hint, get_args(hint))


def _fits(value: Any, hint: Hint) -> bool:
    kind, arguments = _type_parts(hint)
    if kind == "union":
        return any(_fits(value, option) for option in arguments)
    if kind is Literal:
        return any(
            type(value) is type(option) and value == option for option in arguments
        )
    if kind in _LISTS:
        item_hint = arguments[0] if arguments else Any
        is_list = isinstance(value, (list, tuple))
        return is_list and all(_fits(item, item_hint) for item in value)
    if kind not in _NOUNS:
        return True
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _expected(hint: Hint) -> str:
    kind, arguments = _type_parts(hint)
    if kind == "union":
        return " or ".join(map(_expected, arguments))
    if kind is Literal:
        words = [str(value) or '""' for value in arguments]
        return " or ".join(words) if len(words) <= 2 else f"one of {', '.join(words)}"
    if kind in _LISTS:
        is_typed = arguments and arguments[0] is not Any
        return f"a list, each item {_expected(arguments[0])}" if is_typed else "a list"
    return _NOUNS.get(kind, "another value")


def _words(hint: Hint) -> list[str]:
    """Returns the texts of all literals in a type."""
    kind, arguments = _type_parts(hint)
    if kind is Literal:
        return [option for option in arguments if isinstance(option, str)]
    return [word for part in arguments for word in _words(part)]
