"""The values of switches: what the type of a keyword argument allows, and how that is said to people."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from mmeval.errors import did_you_mean

Hint: TypeAlias = Any
"""A type as an annotation writes it; types have no common type of their own."""


class FilePath:
    """Marks a text that may be a path: where it begins with ``.``, it is relative to the file in which it stands."""


PathOrName: TypeAlias = Annotated[str, FilePath]


def hint_of(function: Callable[..., Any], name: str) -> Hint:
    """The type of an argument; ``Any`` where it has none, or one that cannot be found out."""
    written = getattr(function, "__annotations__", {}).get(name, Any)
    only = SimpleNamespace(__annotations__={name: written})
    try:
        return get_type_hints(only, globalns=getattr(function, "__globals__", {}), include_extras=True)[name]
    except Exception:  # an annotation may be any expression, of names that exist for a type checker alone
        return Any


def is_path(hint: Hint) -> bool:
    return FilePath in getattr(hint, "__metadata__", ())


def fault_of(value: Any, hint: Hint) -> str:
    """Why a value is not of a type, with near names; empty when it is. Types that YAML cannot write are not checked."""
    if _fits(value, hint):
        return ""
    near = did_you_mean(value, _words(hint)) if isinstance(value, str) else ""
    return f"must be {_wanted(hint)}, not {value!r:.80}{near}"


def _fits(value: Any, hint: Hint) -> bool:
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return _fits(value, inner[0])
    if kind in (Union, types.UnionType):
        return any(_fits(value, option) for option in inner)
    if kind is Literal:
        return any(type(value) is type(option) and value == option for option in inner)
    if (kind or hint) in _LISTS:
        return isinstance(value, (list, tuple)) and all(_fits(item, inner[0] if inner else Any) for item in value)
    if (kind or hint) in _MAPPINGS:
        return isinstance(value, Mapping)
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return not isinstance(hint, type) or hint not in _PLAIN or isinstance(value, hint)


_LISTS = (list, Sequence)
_MAPPINGS = (dict, Mapping)
_PLAIN: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    types.NoneType: "null",
}


def _wanted(hint: Hint) -> str:
    kind, inner = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return _wanted(inner[0])
    if kind in (Union, types.UnionType):
        return " or ".join(map(_wanted, inner))
    if kind is Literal:
        *rest, last = map(str, inner)
        return f"{', '.join(rest)} or {last}" if rest else last
    if (kind or hint) in _LISTS:
        return f"a list, each {_wanted(inner[0])}" if inner and inner[0] is not Any else "a list"
    return "a mapping" if (kind or hint) in _MAPPINGS else _PLAIN.get(hint, "something else")


def _words(hint: Hint) -> list[str]:
    """The texts that a type names one by one."""
    if get_origin(hint) is Literal:
        return [option for option in get_args(hint) if isinstance(option, str)]
    return [word for inner in get_args(hint) for word in _words(inner)]
