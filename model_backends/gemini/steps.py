"""Puts the steps of an interaction together from the events of a stream."""

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
"""The field of an interaction with the bytes of its events that are not JSON."""
OPEN = ("in_progress", "queued")
"""The states of an interaction that goes on."""
_MEDIA = ("image", "audio", "video", "document")
_NOT_OF_A_STEP = frozenset(("arguments_delta", "text_annotation_delta"))
"""Deltas that add nothing to an answer."""


def whole_interaction(
    body: bytes, lost: str = "", secrets: Collection[str] = ()
) -> dict[str, Any]:
    """The interaction that a stream makes, as it would have come without one.

    Raises CallError for an error in the stream, and ``connection`` for a stream without
    its end: half an answer is none.
    """
    stream = _InteractionStream()
    for event in events(body):
        if event.data.strip() != DONE:
            stream.add(event)
    if not stream.has_ended:
        raise missing_end("the answer", lost)
    interaction: dict[str, Any] = json_without_secrets(stream.interaction(), secrets)
    return interaction


class _InteractionStream:
    """What has come so far."""

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
                # the last event need not state a status
                self._interaction["status"] = "completed"
        index = row.get("index")
        place = index if isinstance(index, int) else len(self._steps)
        if kind == "step.start" and isinstance(row.get("step"), dict):
            self._steps[place] = row["step"]
        elif kind == "step.delta" and isinstance(row.get("delta"), dict):
            delta = row["delta"]
            is_thought = str(delta.get("type")).startswith("thought")
            # the step of a delta whose beginning did not come
            missing = {"type": "thought" if is_thought else "model_output"}
            _add_delta(self._steps.setdefault(place, missing), delta)

    def interaction(self) -> dict[str, Any]:
        steps = [self._steps[place] for place in sorted(self._steps)]
        for step in steps:
            for name in ("content", "summary"):
                if isinstance(step.get(name), list):
                    step[name] = _joined(step[name])
        came_at_once = self._interaction.get("steps")
        return {
            **self._interaction,
            "steps": steps or came_at_once or [],
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
        # a call or a result, which comes at once
        step.update(delta)
    elif kind not in _NOT_OF_A_STEP:
        _add_item(step, "content", delta)


def _add_item(
    step: dict[str, Any],
    name: str,
    item: object,
) -> None:
    """Add an item to a list of a step."""
    if not isinstance(step.get(name), list):
        step[name] = []
    if item is not None:
        step[name].append(item)


def _joined(items: Sequence[Any]) -> list[Any]:
    """Items of a stream, in which texts in a row are one text, and sounds of one type
    in a row are pieces of one sound."""
    joined: list[Any] = []
    pieces: list[Any] = []
    for item in [*items, None]:
        if pieces and not _goes_on(pieces[0], item):
            name = _field_of_pieces(pieces[0])
            written = [piece[name] for piece in pieces]
            wholes = ["".join(written)] if name == "text" else whole_sounds(written)
            for whole in wholes:
                joined.append({**pieces[0], name: whole})
            pieces = []
        if _field_of_pieces(item):
            pieces.append(item)
        elif item is not None:
            joined.append(item)
    return joined


def _field_of_pieces(item: object) -> str:
    """The field of an item that may come in pieces; empty for other items."""
    if not isinstance(item, dict):
        return ""
    for kind, name in (("text", "text"), ("audio", "data")):
        if item.get("type") == kind and isinstance(item.get(name), str):
            return name
    return ""


def _goes_on(first: Mapping[str, Any], item: object) -> bool:
    """Whether an item is another piece of what begins with the first one."""
    if not isinstance(item, dict):
        return False
    if item.get("type") != first.get("type"):
        return False
    # some state it in the first piece alone
    stated = item.get("mime_type")
    is_same_type = stated is None or stated == first.get("mime_type")
    return is_same_type and bool(_field_of_pieces(item))


def checked_steps(interaction: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps of an interaction. Earlier servers wrote what the model gave as
    ``outputs``. Raises CallError ``bad_reply`` without any list of these."""
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
