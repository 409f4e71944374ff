"""Hides keys, tokens and passwords in output and files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_SECRET = re.compile(
    r"(^|[_-])(keys?|token|secret|password|passwd|credentials?|authorization)$",
    re.IGNORECASE,
)

_WRITTEN_SECRET = re.compile(
    r"""((?:^|[^A-Za-z0-9])(?:keys?|token|secret|password|passwd|credentials?|authorization)"?\s*[=:]\s*"?)[^\s,;"'}]+""",
    re.IGNORECASE,
)

HIDDEN = "***"


def without_secrets(values: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with the values of keys, tokens and passwords hidden, at any
    depth."""
    return {
        name: HIDDEN
        if _SECRET.search(name) and isinstance(value, str) and value
        else _inner(value)
        for name, value in values.items()
    }


def hidden_names(values: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Names whose values :func:`without_secrets` has hidden; ``a.b`` in a mapping."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from hidden_names(value, f"{path}{name}.")
        elif value == HIDDEN:
            yield f"{path}{name}"


def text_without_secrets(text: str) -> str:
    """A command line with the values of keys, tokens and passwords hidden."""
    return _WRITTEN_SECRET.sub(rf"\1{HIDDEN}", text)


def _inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return without_secrets(value)
    return (
        [_inner(item) for item in value] if isinstance(value, (list, tuple)) else value
    )
