"""Puts a reply of ``generateContent`` together from its events: the parts of each
candidate in their order, why it has ended, and what was counted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from mmeval.media import Part
from mmeval.model_backends.wire.failures import bad_reply, json_without_secrets
from mmeval.model_backends.wire.replies.events import DONE, events, is_stream
from mmeval.model_backends.wire.replies.reply import json_object
from mmeval.model_backends.wire.replies.samples import whole_sounds
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    error_in_list,
    event_object,
    missing_end,
)
from mmeval.model_backends.wire.replies.verbatim import verbatim_items
from mmeval.model_backends.wire.transport import HttpReply
from mmeval.system import from_line

_SPELLINGS: Mapping[str, str] = {
    "code_execution_result": "codeExecutionResult",
    "executable_code": "executableCode",
    "file_data": "fileData",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "tool_call": "toolCall",
}
"""Fields of a part in the spelling of gateways."""
_BESIDE = frozenset(
    (
        "audioMetadata",
        "audioTranscription",
        "audio_metadata",
        "audio_transcription",
        "documentMetadata",
        "document_metadata",
        "mediaProcessing",
        "mediaResolution",
        "media_processing",
        "media_resolution",
        "partMetadata",
        "part_metadata",
        "speechMetadata",
        "speech_metadata",
        "spreadsheetMetadata",
        "spreadsheet_metadata",
        "thought",
        "thoughtSignature",
        "thought_signature",
        "videoMetadata",
        "video_metadata",
    )
)
"""Fields of a part that hold nothing of the answer."""
_OF_TEXT = _BESIDE | {"text"}


@dataclass
class Candidate:
    """One answer of a reply: its parts, each also as it is written."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    written: list[bytes] = field(default_factory=list)
    """The parts that are given back: all but thoughts."""
    reason: object = None
    message: str = ""
    beside: dict[str, Any] = field(default_factory=dict)


@dataclass
class GeminiReply:
    """A reply with all that has come."""

    candidates: dict[int, Candidate] = field(default_factory=dict)
    block_reason: object = None
    block_message: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    model: object = None
    beside: dict[str, Any] = field(default_factory=dict)
    unread: int = 0
    """Bytes of events that are not JSON."""

    def add(self, row: Mapping[str, Any], text: str | bytes) -> None:
        """Add an event, or a whole reply; ``text`` is what it was read from."""
        feedback = _first(row, "promptFeedback", "prompt_feedback")
        if isinstance(feedback, dict):
            reason = _first(feedback, "blockReason", "block_reason")
            self.block_reason = reason or self.block_reason
            words = _first(feedback, "blockReasonMessage", "block_reason_message")
            self.block_message = str(words or self.block_message)
        counted = _first(row, "usageMetadata", "usage_metadata")
        if isinstance(counted, dict):
            self.usage = {**self.usage, **counted}
        self.model = _first(row, "modelVersion", "model_version") or self.model
        self.beside.update(row)
        candidates = row.get("candidates")
        if not isinstance(candidates, list):
            return
        for place, given in enumerate(candidates):
            if isinstance(given, dict):
                self._add_candidate(given, place, text)

    def _add_candidate(
        self, given: Mapping[str, Any], place: int, text: str | bytes
    ) -> None:
        index = given.get("index")
        number = index if isinstance(index, int) else place
        candidate = self.candidates.setdefault(number, Candidate())
        reason = _first(given, "finishReason", "finish_reason")
        candidate.reason = reason or candidate.reason
        words = _first(given, "finishMessage", "finish_message")
        candidate.message = str(words or candidate.message)
        candidate.beside.update(given)
        parts = given.get("content")
        path: tuple[str | int, ...] = ("candidates", place, "content")
        if isinstance(parts, dict):
            parts = parts.get("parts")
            path = (*path, "parts")
        if isinstance(parts, str | dict):
            parts = [parts]
        if not isinstance(parts, list):
            return
        written = verbatim_items(text, path)
        has_written = len(written) == len(parts)
        for number, part in enumerate(parts):
            if has_written and not is_thought(part):
                candidate.written.append(written[number])
            if isinstance(part, str):
                candidate.parts.append({"text": part})
            elif isinstance(part, dict):
                candidate.parts.append(part)
            else:
                candidate.parts.append({"a JSON value": part})


def is_thought(part: object) -> bool:
    return isinstance(part, dict) and bool(part.get("thought"))


def whole_reply(http_reply: HttpReply, secrets: Collection[str] = ()) -> GeminiReply:
    """The reply in what was received, streamed or not. ``secrets`` are what the server
    may echo, cut at any place of a stream.

    Raises CallError for an error that it holds, ``connection`` for a stream without its
    end, ``bad_reply`` for what is not a reply.
    """
    reply = GeminiReply()
    body = http_reply.body
    if is_stream(body, http_reply.content_type):
        for event in events(body):
            if event.data.strip() == DONE:
                continue
            row = event_object(event)
            if row is None:
                reply.unread += len(event.data.encode("utf-8", "replace"))
            else:
                reply.add(row, event.data)
    elif body.lstrip().startswith(b"["):
        _add_listed(reply, body)
    else:
        reply.add(json_object(body), body)
        if not reply.candidates and not reply.block_reason:
            raise bad_reply("the server's answer has no candidates")
        return reply
    reasons = [candidate.reason for candidate in reply.candidates.values()]
    has_ended = reply.block_reason or (reasons and all(reasons))
    if not has_ended:
        raise missing_end("the answer", http_reply.lost)
    for candidate in reply.candidates.values():
        whole = _joined_sounds(joined_texts(candidate.parts))
        candidate.parts = json_without_secrets(whole, secrets)
    return reply


def items_of(
    part: dict[str, Any],
) -> Iterator[dict[str, Any] | Part]:
    """What a part of an answer holds, in shapes that the reader of answers knows."""
    if isinstance(part.get("type"), str):
        yield part  # in the shape of another interface, as some gateways write it
        return
    known = {_SPELLINGS.get(name, name): part[name] for name in part}
    for name, value in known.items():
        if value is None or name in _BESIDE:
            continue
        if name == "text":
            yield {"type": "text", "text": value}
        elif name == "executableCode":
            code = value.get("code") if isinstance(value, dict) else value
            if code:
                yield Part("code", text=str(code), raw=str(code))
        elif name == "codeExecutionResult":
            output = value.get("output") if isinstance(value, dict) else value
            if output:
                yield {"type": "text", "text": str(output)}
        elif name in ("inlineData", "fileData"):
            item = {name: value}
            said = _first(known, "audioTranscription", "audio_transcription")
            if isinstance(said, dict) and isinstance(said.get("text"), str):
                item["transcript"] = said["text"]
            yield item
        elif name == "functionCall":
            yield {"type": "function_call", name: value}
        else:
            yield {"type": name, name: value}


# --- events ---------------------------------------------------------------------------


def _add_listed(reply: GeminiReply, body: bytes) -> None:
    """Add the events of a stream that came as a JSON list, which is how the interface
    streams without ``alt=sse``, and some gateways with it."""
    try:
        listed = from_line(body)
    except (ValueError, RecursionError):
        listed = None
    error = error_in_list(listed)
    if error is not None:
        raise error_in_body(error)
    written = verbatim_items(body, ())
    if not listed or len(listed) != len(written):
        raise bad_reply("the server's answer is a list of nothing that can be read")
    for row, text in zip(listed, written, strict=True):
        if isinstance(row, dict):
            reply.add(row, text)


def joined_texts(
    parts: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Parts of a stream, in which words of one kind in a row are one text."""
    joined: list[dict[str, Any]] = []
    for kind, row in groupby(parts, _kind_of_text):
        if kind:
            words = "".join([part["text"] for part in row])
            joined.append({"text": words, "thought": kind == "thought"})
        else:
            joined += row
    return joined


def _joined_sounds(
    parts: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Parts of a stream, in which a sound comes in pieces of one type."""
    joined: list[dict[str, Any]] = []
    pieces: list[str] = []
    kind = ""
    for part in [*parts, None]:
        sound = None if part is None else _sound(part)
        if pieces and (sound is None or sound[0] != kind):
            # a part with a signature alone may stand between the pieces
            if part is not None and not part.get("text") and part.keys() <= _OF_TEXT:
                continue
            for data in whole_sounds(pieces):
                joined.append({"inlineData": {"mimeType": kind, "data": data}})
            pieces = []
        if sound is not None:
            kind = sound[0]
            pieces.append(sound[1])
        elif part is not None:
            joined.append(part)
    return joined


def _sound(part: Mapping[str, Any]) -> tuple[str, str] | None:
    """The type and the base64 of a part that is a sound of the answer."""
    data = _first(part, "inlineData", "inline_data")
    if not isinstance(data, dict) or is_thought(part):
        return None
    mime, letters = _first(data, "mimeType", "mime_type"), data.get("data")
    if not isinstance(mime, str) or not isinstance(letters, str):
        return None
    return (mime, letters) if mime.lower().startswith("audio/") else None


def _kind_of_text(part: Mapping[str, Any]) -> str:
    """``text`` or ``thought`` for a part of words alone; empty for others."""
    text = part.get("text")
    # an empty one bears a signature, and may stand between the pieces of a sound
    if not text or not isinstance(text, str) or not part.keys() <= _OF_TEXT:
        return ""
    return "thought" if is_thought(part) else "text"


def _first(row: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    return None
