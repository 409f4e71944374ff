"""Joins the events of ``generateContent`` into one reply.

A reply contains the parts of each candidate in order, its finish reason, and the usage.
"""

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

_CAMEL_NAMES: Mapping[str, str] = {
    "code_execution_result": "codeExecutionResult",
    "executable_code": "executableCode",
    "file_data": "fileData",
    "function_call": "functionCall",
    "function_response": "functionResponse",
    "inline_data": "inlineData",
    "tool_call": "toolCall",
}
"""The names of a part's fields. The keys are the names that gateways use."""
_METADATA_FIELDS = frozenset(
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
"""Fields of a part that do not contain content of the answer."""
_TEXT_FIELDS = _METADATA_FIELDS | {"text"}


@dataclass
class Candidate:
    """One answer in a reply: its parts, both decoded and as the bytes that arrived."""

    parts: list[dict[str, Any]] = field(default_factory=list)
    encoded_parts: list[bytes] = field(default_factory=list)
    """The parts that the next request sends back. Thoughts are not sent back."""
    reason: object = None
    message: str = ""
    other_fields: dict[str, Any] = field(default_factory=dict)


@dataclass
class GeminiReply:
    """The content of a reply that was received so far."""

    candidates: dict[int, Candidate] = field(default_factory=dict)
    block_reason: object = None
    block_message: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    model: object = None
    other_fields: dict[str, Any] = field(default_factory=dict)
    unread: int = 0
    """The number of bytes in events that are not JSON."""

    def add(self, row: Mapping[str, Any], text: str | bytes) -> None:
        """Adds an event or a complete reply. ``text`` is its JSON."""
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
        self.other_fields.update(row)
        candidates = row.get("candidates")
        if not isinstance(candidates, list):
            return
        for index, candidate in enumerate(candidates):
            if isinstance(candidate, dict):
                self._add_candidate(candidate, index, text)

    def _add_candidate(
        self, row: Mapping[str, Any], position: int, text: str | bytes
    ) -> None:
        index = row.get("index")
        number = index if isinstance(index, int) else position
        candidate = self.candidates.setdefault(number, Candidate())
        reason = _first(row, "finishReason", "finish_reason")
        candidate.reason = reason or candidate.reason
        words = _first(row, "finishMessage", "finish_message")
        candidate.message = str(words or candidate.message)
        candidate.other_fields.update(row)
        parts = row.get("content")
        path: tuple[str | int, ...] = ("candidates", position, "content")
        if isinstance(parts, dict):
            parts = parts.get("parts")
            path = (*path, "parts")
        if isinstance(parts, str | dict):
            parts = [parts]
        if not isinstance(parts, list):
            return
        encoded_parts = verbatim_items(text, path)
        has_encoded = len(encoded_parts) == len(parts)
        for number, part in enumerate(parts):
            if has_encoded and not is_thought(part):
                candidate.encoded_parts.append(encoded_parts[number])
            if isinstance(part, str):
                candidate.parts.append({"text": part})
            elif isinstance(part, dict):
                candidate.parts.append(part)
            else:
                candidate.parts.append({"a JSON value": part})


def is_thought(part: object) -> bool:
    return isinstance(part, dict) and bool(part.get("thought"))


def whole_reply(http_reply: HttpReply, secrets: Collection[str] = ()) -> GeminiReply:
    """Returns the complete reply in the body of an HTTP reply, streamed or not.

    ``secrets`` are removed here, because an event may end in the middle of a secret
    that the server echoes.

    Raises CallError for an error in the reply. The error's kind is ``connection`` for a
    stream without an end, and ``bad_reply`` for any other unreadable reply.
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
        raise missing_end("the answer", http_reply.cut_reason)
    for candidate in reply.candidates.values():
        whole = _joined_sounds(joined_texts(candidate.parts))
        candidate.parts = json_without_secrets(whole, secrets)
    return reply


def items_of(
    part: dict[str, Any],
) -> Iterator[dict[str, Any] | Part]:
    """Yields the content of a part as items that AnswerReader can read."""
    if isinstance(part.get("type"), str):
        yield part  # Some gateways write items of another interface.
        return
    fields = {_CAMEL_NAMES.get(name, name): part[name] for name in part}
    for name, value in fields.items():
        if value is None or name in _METADATA_FIELDS:
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
            transcription = _first(fields, "audioTranscription", "audio_transcription")
            if isinstance(transcription, dict) and isinstance(
                transcription.get("text"), str
            ):
                item["transcript"] = transcription["text"]
            yield item
        elif name == "functionCall":
            yield {"type": "function_call", name: value}
        else:
            yield {"type": name, name: value}


# --- events ---------------------------------------------------------------------------


def _add_listed(reply: GeminiReply, body: bytes) -> None:
    """Adds the events of a stream that is a JSON list.

    The interface uses this form for requests without ``alt=sse``. Some gateways use it
    even for requests with ``alt=sse``.
    """
    try:
        listed = from_line(body)
    except (ValueError, RecursionError):
        listed = None
    error = error_in_list(listed)
    if error is not None:
        raise error_in_body(error)
    encoded_parts = verbatim_items(body, ())
    if not listed or len(listed) != len(encoded_parts):
        raise bad_reply("the server's answer is a list without readable items")
    for row, text in zip(listed, encoded_parts, strict=True):
        if isinstance(row, dict):
            reply.add(row, text)


def joined_texts(
    parts: Sequence[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Returns the parts of a stream, with neighbouring texts of one kind joined."""
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
    """Returns the parts of a stream, with the chunks of each sound joined."""
    joined: list[dict[str, Any]] = []
    pieces: list[str] = []
    kind = ""
    for part in [*parts, None]:
        sound = None if part is None else _sound(part)
        if pieces and (sound is None or sound[0] != kind):
            # A part with only a signature may be between the pieces of a sound.
            if (
                part is not None
                and not part.get("text")
                and part.keys() <= _TEXT_FIELDS
            ):
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
    """Returns the MIME type and the base64 of a part if it is a sound, else None."""
    data = _first(part, "inlineData", "inline_data")
    if not isinstance(data, dict) or is_thought(part):
        return None
    mime, letters = _first(data, "mimeType", "mime_type"), data.get("data")
    if not isinstance(mime, str) or not isinstance(letters, str):
        return None
    return (mime, letters) if mime.lower().startswith("audio/") else None


def _kind_of_text(part: Mapping[str, Any]) -> str:
    """Returns ``text`` or ``thought`` for a part with only text.

    Returns an empty string for other parts.
    """
    text = part.get("text")
    # A part with an empty text has only a signature. It may be between the pieces of a
    # sound, so it does not count as text.
    if not text or not isinstance(text, str) or not part.keys() <= _TEXT_FIELDS:
        return ""
    return "thought" if is_thought(part) else "text"


def _first(row: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        if row.get(name) is not None:
            return row[name]
    return None
