"""Reads server-sent events from the bytes of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mmeval.system import from_line

EVENT_STREAM = "text/event-stream"
DONE = "[DONE]"
_DONE_LINE = re.compile(rb"^data:[ ]?\[DONE\][ \t]*(?:\r|\n|\Z)", re.MULTILINE)
_BEGINNINGS = (b"data:", b"event:", b"id:", b"retry:", b":")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Event(NamedTuple):
    """An event: its name, which may be empty, and its data as text."""

    name: str
    data: str

    def json(self) -> dict[str, Any] | None:
        """Returns the JSON object in the data, or None if it is not a JSON object."""
        try:
            value = from_line(self.data.encode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


def is_stream(body: bytes, content_type: str) -> bool:
    """Returns True if a body contains events.

    The body is examined too, because some servers state a wrong content type.
    """
    if body.startswith(b"{"):
        return False
    if content_type.lower().startswith(EVENT_STREAM):
        return not body.lstrip().startswith((b"{", b"["))
    return body.removeprefix(_BYTE_ORDER_MARK).startswith(_BEGINNINGS)


def has_ended(body: bytes) -> bool:
    """Returns True if a stream ends with its final event."""
    return _DONE_LINE.search(body) is not None


def events(body: bytes) -> Iterator[Event]:
    """Yields the events of a body. The last event need not end with an empty line."""
    name, lines = "", list[str]()
    for line in body.removeprefix(_BYTE_ORDER_MARK).splitlines():
        if not line:
            if lines:
                yield Event(name, "\n".join(lines))
            name, lines = "", []
            continue
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            lines.append(text)
        elif field == b"event":
            name = text
    if lines:
        yield Event(name, "\n".join(lines))
