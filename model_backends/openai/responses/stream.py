"""Combines the events of a streamed response into a reply in the unstreamed form."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from mmeval.model_backends.wire.failures import json_without_secrets
from mmeval.model_backends.wire.replies.events import DONE, Event, events
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    missing_end,
    reported_error,
)
from mmeval.model_backends.wire.replies.verbatim import verbatim_items, verbatim_value
from mmeval.system import from_line

_ENDS = frozenset(
    f"response.{end}"
    for end in ("completed", "done", "incomplete", "failed", "cancelled")
)
_PARTS_OF_ITEMS = frozenset(
    (
        "code_interpreter_call",
        "code_interpreter_call_code",
        "content_part",
        "custom_tool_call_input",
        "file_search_call",
        "function_call_arguments",
        "image_generation_call",
        "mcp_call",
        "mcp_call_arguments",
        "mcp_list_tools",
        "output_item",
        "output_text",
        "reasoning",
        "reasoning_summary",
        "reasoning_summary_part",
        "reasoning_summary_text",
        "reasoning_text",
        "refusal",
        "web_search_call",
    )
)
"""Names in ``response.NAME...`` of partial events.

A later event contains the complete item.
"""
MOST_ITEMS = 100_000
"""Maximum number of items in an answer.

The limit is needed because a server may give its items arbitrarily large numbers.
"""


class StreamedResponse(NamedTuple):
    """A response that was streamed.

    ``items`` are the items of its output, byte for byte. ``unread_bytes`` is the number
    of bytes in events that are not JSON. ``unknown`` contains events of unknown types.
    """

    fields: Mapping[str, Any]
    items: list[bytes]
    unread_bytes: int = 0
    unknown: Mapping[str, Any] = {}


def streamed_reply(
    body: bytes,
    cut_reason: str = "",
    secrets: Collection[str] = (),
) -> StreamedResponse:
    """Joins a stream of events to a reply.

    The reply contains the items that events report as done, and the items that only the
    last event contains. Partial pictures are not items.

    ``cut_reason`` explains why the end is missing. ``secrets`` are removed here,
    because an event may end in the middle of an echoed secret. Raises CallError
    ``connection`` for a stream without an end.
    """
    stream = _read(body)
    if not stream.is_complete:
        raise missing_end("the answer", cut_reason)
    return stream.reply(secrets)


def streamed_state(body: bytes, cut_reason: str = "") -> Mapping[str, Any]:
    """Returns the response in the last event of a stream.

    If the stream was cut off, the returned response has not ended. Raises CallError if
    an event is an error, and CallError ``connection`` if no event contains a response.
    """
    stream = _read(body)
    if "id" in stream.fields:
        return stream.fields
    if stream.is_complete and stream.fields.get("error"):
        raise error_in_body(stream.fields["error"])
    raise missing_end("the answer", cut_reason)


def _read(body: bytes) -> _ResponseStream:
    stream = _ResponseStream()
    for event in events(body):
        if event.data.strip() == DONE:
            break
        stream.add(event)
        if stream.is_complete:
            break
    return stream


class _ResponseStream:
    """The content of a response that was received so far."""

    def __init__(self) -> None:
        self.is_complete = False
        self.fields: dict[str, Any] = {}
        self._done: dict[int, bytes] = {}
        self._ids: set[str] = set()
        self._texts: dict[int, list[str]] = {}
        self._last_items: list[bytes] = []
        self._unread_bytes = 0
        self._unknown: dict[str, list[Any]] = {}

    def add(self, event: Event) -> None:
        row = event.json()
        if row is None and event.name != "error":
            self._unread_bytes += len(event.data.encode("utf-8", "replace"))
            return
        row = row or {"message": event.data}
        kind = str(row.get("type") or event.name)
        family, _, name = kind.partition(".")
        subject = name.partition(".")[0]
        response = row.get("response")
        if kind == "response.output_item.done" and isinstance(row.get("item"), dict):
            item = row["item"]
            index = _index_of(row, len(self._done))
            written = verbatim_value(event.data, ("item",))
            assert written is not None  # the event has been read
            self._done[index] = written
            if isinstance(item.get("id"), str):
                self._ids.add(item["id"])
        elif isinstance(response, dict):
            self.fields = response
            if kind in _ENDS:
                self.is_complete = True
                self._last_items = verbatim_items(event.data, ("response", "output"))
        elif kind == "error" or (
            not kind.startswith("response.") and reported_error(row)
        ):
            # if the error is a refusal, the content before it is kept
            error = row.get("error") or row
            self.fields = {**self.fields, "status": "failed", "error": error}
            self.is_complete = True
        elif kind == "response.output_text.delta":
            texts = self._texts.setdefault(_index_of(row, 0), [])
            texts.append(str(row.get("delta") or ""))
        elif family != "response" or subject not in _PARTS_OF_ITEMS:
            self._unknown.setdefault(f"the event {kind}", []).append(row)

    def reply(self, secrets: Collection[str]) -> StreamedResponse:
        """Returns the reply in the same form as a reply that is not streamed."""
        items = dict(self._done)
        for index, item in enumerate(self._last_items):
            row = from_line(item)
            name = str(row.get("id")) if isinstance(row, dict) else ""
            if index not in items and name not in self._ids:
                items[index] = item
        if not items:
            # some servers send the text of an answer without an item
            for index, texts in self._texts.items():
                words = json_without_secrets("".join(texts), secrets)
                message = {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": words}],
                }
                items[index] = json.dumps(message).encode()
        ordered = [items[index] for index in sorted(items)]
        return StreamedResponse(self.fields, ordered, self._unread_bytes, self._unknown)


def _index_of(row: Mapping[str, Any], otherwise: int) -> int:
    index = row.get("output_index")
    if isinstance(index, int) and 0 <= index < MOST_ITEMS:
        return index
    return otherwise
