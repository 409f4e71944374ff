"""Shared by scripts that write pages: parts between marks, and values as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def replaced(page: str, begin: str, end: str, made: str) -> str:
    """A page with new text between two marks. Raises ValueError for a page without the
    marks."""
    head, found, rest = page.partition(begin)
    _, ended, tail = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"the marks of what is made are gone: {begin}")
    return f"{head}{begin}\n\n{made}\n\n{end}{tail}"


def written(values: Mapping[str, Any]) -> str:
    """Switches with their values, as in a task file."""
    return ", ".join(f"`{switch}: {_value(value)}`" for switch, value in values.items())


def names(found: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in found)


def _value(value: Any) -> str:
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
