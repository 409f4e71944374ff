"""Joins the events of a stream into the steps of an interaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mmeval.model_backends.wire.failures import bad_reply, json_without_secrets
from mmeval.model_backends.wire.replies.events import DONE, Event, events
from mmeval.model_backends.wire.replies.samples import whole_sounds
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    event_object,
    missing_end,
)

UNREAD = "unread_bytes"
"""The field that states the number of bytes in events that are not JSON."""
OPEN = ("in_progress", "queued")
"""The statuses of an interaction that has not ended."""
_MEDIA = ("image", "audio", "video", "document")
_IGNORED_DELTAS = frozenset(("arguments_delta", "text_annotation_delta"))
"""Types of deltas that do not add content to an answer."""


def whole_interaction(
    body: bytes, cut_reason: str = "", secrets: Collection[str] = ()
) -> dict[str, Any]:
    """Returns the interaction in a stream, in the form of an unstreamed reply.

    Raises CallError for an error in the stream. The error's kind is ``connection`` for
    a stream without an end, because the answer may be incomplete.
    """
    stream = _InteractionStream()
    for event in events(body):
        if event.data.strip() != DONE:
            stream.add(event)
    if not stream.has_ended:
        raise missing_end("the answer", cut_reason)
    interaction: dict[str, Any] = json_without_secrets(stream.interaction(), secrets)
    return interaction


class _InteractionStream:
    """The content of an interaction that was received so far."""

    def __init__(self) -> None:
        self.has_ended = False
        self._interaction: dict[str, Any] = {}
        self._steps: dict[int, dict[str, Any]] = {}
        self._unread = 0

    def add(self, event: Event) -> None:
        row = event_object(event)
        if row is None:
            self._unread += len(event.data.encode("utf-8", "replace"))
            return
        kind = str(row.get("event_type") or event.name)
        if kind == "error":
            raise error_in_body(row)
        interaction = row.get("interaction")
        if isinstance(interaction, dict):
            self._interaction.update(interaction)
        elif kind == "interaction.status_update" and row.get("status"):
            self._interaction["status"] = row["status"]
        if isinstance(row.get("usage"), dict):
            self._interaction["usage"] = row["usage"]
        if kind.startswith("interaction."):
            status = self._interaction.get("status", OPEN[0])
            is_last = kind == "interaction.completed"
            self.has_ended = is_last or status not in OPEN
            if is_last and status in OPEN:
                # The last event may have no status.
                self._interaction["status"] = "completed"
        index = row.get("index")
        index_of_step = index if isinstance(index, int) else len(self._steps)
        if kind == "step.start" and isinstance(row.get("step"), dict):
            self._steps[index_of_step] = row["step"]
        elif kind == "step.delta" and isinstance(row.get("delta"), dict):
            delta = row["delta"]
            is_thought = str(delta.get("type")).startswith("thought")
            # The stream may omit the start of a step.
            missing = {"type": "thought" if is_thought else "model_output"}
            _add_delta(self._steps.setdefault(index_of_step, missing), delta)

    def interaction(self) -> dict[str, Any]:
        steps = [self._steps[index_of_step] for index_of_step in sorted(self._steps)]
        for step in steps:
            for name in ("content", "summary"):
                if isinstance(step.get(name), list):
                    step[name] = _joined(step[name])
        complete_steps = self._interaction.get("steps")
        return {
            **self._interaction,
            "steps": steps or complete_steps or [],
            UNREAD: self._unread,
        }


def _add_delta(step: dict[str, Any], delta: Mapping[str, Any]) -> None:
    kind = delta.get("type")
    if kind == "thought_summary":
        _add_item(step, "summary", delta.get("content"))
    elif kind == "thought_signature":
        signature = str(delta.get("signature") or "")
        if signature != step.get("signature"):
            step["signature"] = str(step.get("signature") or "") + signature
    elif kind == "text" or kind in _MEDIA:
        _add_item(step, "content", delta)
    elif kind == step.get("type"):
        # A tool call or its result arrives in one delta.
        step.update(delta)
    elif kind not in _IGNORED_DELTAS:
        _add_item(step, "content", delta)


def _add_item(
    step: dict[str, Any],
    name: str,
    item: object,
) -> None:
    """Adds an item to a list of a step."""
    if not isinstance(step.get(name), list):
        step[name] = []
    if item is not None:
        step[name].append(item)


def _joined(items: Sequence[Any]) -> list[Any]:
    """Joins neighbouring texts of a stream, and neighbouring sounds of one type."""
    joined: list[Any] = []
    pieces: list[Any] = []
    for item in [*items, None]:
        if pieces and not _continues(pieces[0], item):
            name = _field_of_pieces(pieces[0])
            values = [piece[name] for piece in pieces]
            joined_values = (
                ["".join(values)] if name == "text" else whole_sounds(values)
            )
            for value in joined_values:
                joined.append({**pieces[0], name: value})
            pieces = []
        if _field_of_pieces(item):
            pieces.append(item)
        elif item is not None:
            joined.append(item)
    return joined


def _field_of_pieces(item: object) -> str:
    """Returns the field of an item that may be split over several events.

    Returns an empty string for other items.
    """
    if not isinstance(item, dict):
        return ""
    for kind, name in (("text", "text"), ("audio", "data")):
        if item.get("type") == kind and isinstance(item.get(name), str):
            return name
    return ""


def _continues(first: Mapping[str, Any], item: object) -> bool:
    """Returns True if an item continues the text or sound that ``first`` begins."""
    if not isinstance(item, dict):
        return False
    if item.get("type") != first.get("type"):
        return False
    # Some servers state the type only in the first piece.
    stated = item.get("mime_type")
    is_same_type = stated is None or stated == first.get("mime_type")
    return is_same_type and bool(_field_of_pieces(item))


def checked_steps(interaction: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the steps of an interaction.

    Earlier servers wrote the model's output as ``outputs``. Raises CallError
    ``bad_reply`` if both lists are missing.
    """
    steps = interaction.get("steps")
    if not isinstance(steps, list):
        outputs = interaction.get("outputs")
        if not isinstance(outputs, list):
            raise bad_reply("the server's answer has no steps")
        steps = [{"type": "model_output", "content": outputs}]
    checked = []
    for step in steps:
        if not isinstance(step, dict):
            step = {"type": "a JSON value", "value": step}  # noqa: PLW2901
        checked.append(step)
    return checked
