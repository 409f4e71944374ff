"""Checks the values of switches by the types of keyword arguments."""

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
"""A type as in an annotation; types have no common type of their own."""

_LISTS = (list, Sequence)
_NOUNS: Mapping[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    dict: "a mapping",
    Mapping: "a mapping",
    types.NoneType: "null",
}


class FilePath:
    """Marks a text that may be a path, relative to the file that holds it.
    Names may have a slash (``org/model``): a path begins with ``.``."""

    def is_path(self, written: str) -> bool:
        return written.startswith(".")

    def __repr__(self) -> str:
        return type(self).__name__


PathOrName: TypeAlias = Annotated[str, FilePath()]


class Checked:
    """Marks a value with a condition beyond its type; ``fault`` gives what it must be.
    It is empty when the value is right."""

    def __init__(self, fault: Callable[[Any], str]) -> None:
        self.fault = fault


def regex_fault(pattern: str) -> str:
    """What a regular expression must be; empty where it is one."""
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        return f"a regular expression ({error})"
    return ""


def _share_fault(value: float | None) -> str:
    return "" if value is None or 0 <= value <= 1 else "a number from 0 to 1"


Share: TypeAlias = Annotated[float, Checked(_share_fault)]
"""A number from 0 to 1, both ends included."""
OptionalShare: TypeAlias = Annotated[float | None, Checked(_share_fault)]
OneOrMore: TypeAlias = Annotated[
    int, Checked(lambda value: "" if value >= 1 else "1 or more")
]
ZeroOrMore: TypeAlias = Annotated[
    int, Checked(lambda value: "" if value >= 0 else "0 or more")
]
AboveZero: TypeAlias = Annotated[
    float, Checked(lambda value: "" if value > 0 else "above 0")
]


def hint_of(function: Callable[..., Any], name: str) -> Hint:
    """The type of an argument; ``Any`` without one, or if it cannot be resolved."""
    written = getattr(function, "__annotations__", {}).get(name, Any)
    only = SimpleNamespace(__annotations__={name: written})
    names = getattr(function, "__globals__", {})
    try:
        return get_type_hints(only, globalns=names, include_extras=True)[name]
    # an annotation may be any expression, of names that exist for a type checker alone
    except Exception:
        return Any


def marks_of(hint: Hint, kind: type[T]) -> list[T]:
    """The marks of a kind in an annotation, beside the type."""
    return [
        mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, kind)
    ]


def is_path(value: Any, hint: Hint) -> bool:
    """Whether a value of this type is a path."""
    return isinstance(value, str) and any(
        mark.is_path(value) for mark in marks_of(hint, FilePath)
    )


def as_meant(value: Any, hint: Hint) -> Any:
    """The value, or the word ``none`` for a null where the type has that word and no
    null: both are written alike."""
    if value is None and "none" in _words(hint) and not _fits(None, hint):
        return "none"
    return value


def fault_of(value: Any, hint: Hint) -> str:
    """Why a value is not of a type, with near names; empty when it is.
    Types that YAML cannot write are not checked."""
    if _fits(value, hint):
        for mark in marks_of(hint, Checked):
            if fault := mark.fault(value):
                return f"must be {fault}, not {value!r:.80}"
        return ""
    near = did_you_mean(value, _words(hint)) if isinstance(value, str) else ""
    return f"must be {_wanted(hint)}, not {value!r:.80}{near}"


class _Form(NamedTuple):
    """A type in parts: ``list[str]`` is ``list``, ``(str,)``. ``Any``: see ``Hint``."""

    kind: Any
    inner: tuple[Hint, ...]


def _form(hint: Hint) -> _Form:
    kind: Any = get_origin(hint)
    if kind is Annotated:
        return _form(get_args(hint)[0])
    if kind in (Union, types.UnionType):
        kind = "union"
    return _Form(kind or hint, get_args(hint))


def _fits(value: Any, hint: Hint) -> bool:
    kind, inner = _form(hint)
    if kind == "union":
        return any(_fits(value, option) for option in inner)
    if kind is Literal:
        return any(type(value) is type(option) and value == option for option in inner)
    if kind in _LISTS:
        item_hint = inner[0] if inner else Any
        is_list = isinstance(value, (list, tuple))
        return is_list and all(_fits(item, item_hint) for item in value)
    if kind not in _NOUNS:
        return True
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _wanted(hint: Hint) -> str:
    kind, inner = _form(hint)
    if kind == "union":
        return " or ".join(map(_wanted, inner))
    if kind is Literal:
        words = [str(value) or '""' for value in inner]
        return " or ".join(words) if len(words) <= 2 else f"one of {', '.join(words)}"
    if kind in _LISTS:
        is_typed = inner and inner[0] is not Any
        return f"a list, each {_wanted(inner[0])}" if is_typed else "a list"
    return _NOUNS.get(kind, "something else")


def _words(hint: Hint) -> list[str]:
    """The texts that a type lists."""
    kind, inner = _form(hint)
    if kind is Literal:
        return [option for option in inner if isinstance(option, str)]
    return [word for part in inner for word in _words(part)]
