"""Writes data as scripts: a call with a JSON value that cannot break the script."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mmeval.system.json_lines import from_line, to_line

_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)
_PROTO = re.compile(rb'(?<=[{,])"__proto__":')
"""In a script this key would set an object's prototype; in brackets it is an ordinary
key. Quotes within strings are escaped, so a quote directly after a brace or a comma
always starts a string."""
MAX_DEPTH = 60
"""If JSON cannot represent a value unchanged, at most this number of nested levels of
the value are kept."""


def script(call: str, *values: Any) -> bytes:
    """Returns ``mmeval.<call>(<json>, ...);`` as UTF-8. NaN and infinity become null;
    deep nesting is cut."""
    lines = []
    for value in values:
        try:
            line = to_line(value)
        except (RecursionError, TypeError, ValueError):
            line = to_line(_shallow(value))
        for raw, escaped in _ESCAPES:
            line = line.replace(raw, escaped)
        if b"__proto__" in line:
            line = _PROTO.sub(b'["__proto__"]:', line)
        lines.append(line)
    return b"mmeval.%b(%b);\n" % (call.encode(), b",".join(lines))


def _shallow(value: Any, depth: int = 0) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if not isinstance(value, (Mapping, list, tuple)):
        return str(value)
    if depth == MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        items = value.items()
        return {str(name): _shallow(item, depth + 1) for name, item in items}
    return [_shallow(item, depth + 1) for item in value]


class Chunks:
    """Writes ``size`` items to a file: ``<name>-0000.js`` contains ``mmeval.<name>(0,
    [...])``. ``before`` is called before each file is written, to complete the items of
    the file."""

    def __init__(
        self,
        folder: Path,
        name: str,
        size: int,
        *,
        before: Callable[[], None] | None = None,
    ) -> None:
        self._folder, self._name, self._size, self._before = folder, name, size, before
        self._items: list[Any] = []
        self._number = 0

    def add(self, item: Any) -> None:
        self._items.append(item)
        if len(self._items) == self._size:
            self.flush()

    def item(self, number: int) -> Any:
        """Read a written item by its number."""
        file, place = divmod(number, self._size)
        line = (self._folder / f"{self._name}-{file:04d}.js").read_bytes()
        body = line[line.index(b",") + 1 : line.rindex(b")")]
        return from_line(body.replace(b'["__proto__"]:', b'"__proto__":'))[place]

    def flush(self) -> None:
        """Write the items that are not written yet, such as the items of the last
        file."""
        if self._items:
            if self._before is not None:
                self._before()
            path = self._folder / f"{self._name}-{self._number:04d}.js"
            path.write_bytes(script(self._name, self._number, self._items))
            self._items = []
            self._number += 1
