"""Joins the chunks of a streamed chat to a reply in the unstreamed form."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.model_backends.wire.failures import json_without_secrets
from mmeval.model_backends.wire.replies.encoded import (
    EncodedBytes,
    known_mime,
    read_encoded,
)
from mmeval.model_backends.wire.replies.events import DONE, events
from mmeval.model_backends.wire.replies.samples import (
    ASSUMED_RATE,
    base64_text,
    joined_base64,
    joined_files,
)
from mmeval.model_backends.wire.replies.server_errors import (
    error_in_body,
    event_object,
    missing_end,
)

UNREAD = "unread_bytes"
"""The field that states the number of bytes in events that are not JSON."""
_NAMES = ("model", "system_fingerprint", "id", "object", "created")
_JOINED = ("reasoning_content", "reasoning", "refusal")
"""Fields of a delta whose texts are joined."""
_MAX_DEPTH = 3
"""Maximum number of objects around a text that is split over several chunks."""
_RIFF = "UklGR"
"""The first characters of a WAV in base64."""
_MEDIA = ("images", "image", "video")
"""Fields of a delta with media. The media keep their position in the stream."""
_READ = frozenset(
    (
        *_JOINED,
        *_MEDIA,
        "audio",
        "content",
        "function_call",
        "reasoning_details",
        "role",
        "tool_calls",
    )
)
_READ_OF_CHUNK = frozenset((*_NAMES, "choices", "modality", "usage"))
CHOICE_FIELDS = frozenset(
    (
        "audio_metadata",
        "delta",
        "error",
        "finish_reason",
        "index",
        "logprobs",
        "message",
        "native_finish_reason",
        "stop_reason",
        "text",
        "token_ids",
    )
)


def whole_reply(
    body: bytes, cut_reason: str = "", secrets: Collection[str] = ()
) -> dict[str, Any]:
    """Joins a stream of chunks to a reply.

    ``cut_reason`` explains why the end of the stream is missing. ``secrets`` are
    removed here, because a chunk may end in the middle of an echoed secret.

    Raises CallError for an error in the stream. Raises CallError ``connection`` for a
    stream without an end, because the answer may be incomplete.
    """
    chunks = _Chunks()
    for event in events(body):
        if event.data.strip() == DONE:
            chunks.is_complete = True
            break
        row = event_object(event)
        if row is None:
            chunks.unread += len(event.data.encode("utf-8", "replace"))
        else:
            chunks.add(row)
    if not chunks.is_complete:
        raise missing_end("the answer", cut_reason)
    return json_without_secrets(chunks.reply(), secrets) if secrets else chunks.reply()


class _Chunks:
    """The content of a stream that was received so far, in order."""

    def __init__(self) -> None:
        self.is_complete = False
        self.unread = 0
        """Number of bytes in events that are not JSON."""
        self._has_deltas = False
        self._names: dict[str, Any] = {}
        self._usage: Any = None
        self._content: list[Any] = []
        """Items of content, and texts that later chunks may extend."""
        self._joined: dict[str, list[str]] = {}
        self._details: list[Any] = []
        self._calls: dict[object, dict[str, str]] = {}
        self._reasons: dict[object, Any] = {}
        self._sound = _StreamedSound()
        self._unknown: dict[str, list[Any]] = {}
        self._known_media: list[Any] = []

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Adds a chunk, or a complete reply in place of chunks."""
        for name in _NAMES:
            if chunk.get(name):
                self._names[name] = chunk[name]
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            # the last usage with output tokens is kept: chunks of sound report none
            counted = usage.get("completion_tokens") or usage.get("output_tokens")
            if counted or self._usage is None:
                self._usage = usage
        self._note_unknown(chunk, _READ_OF_CHUNK)
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            return
        for choice in choices:
            if isinstance(choice, dict):
                self._add_choice(choice, chunk.get("modality"))

    def reply(self) -> dict[str, Any]:
        """Returns the reply in the same form as a reply that is not streamed."""
        message: dict[str, Any] = {"role": "assistant"}
        for name, texts in self._joined.items():
            message[name] = "".join(texts)
        if self._details:
            message["reasoning_details"] = self._details
        if self._calls:
            message["tool_calls"] = [
                {"function": call} for call in self._calls.values()
            ]
        content = []
        for item in self._content:
            if isinstance(item, _StreamedText):
                content.append({"type": "text", "text": "".join(item.pieces)})
            else:
                content.append(item)
        message["content"] = content
        sounds = self._sound.items()
        if sounds:
            message["audio"] = sounds
        for name, values in self._unknown.items():
            message.setdefault(name, _joined(values))
        choices: list[dict[str, Any]] = [{"message": message}]
        choices += [{"finish_reason": reason} for reason in self._reasons.values()]
        return {
            **self._names,
            "choices": choices,
            "usage": self._usage,
            UNREAD: self.unread,
        }

    def _add_choice(self, choice: Mapping[str, Any], modality: object) -> None:
        index = choice.get("index")
        if choice.get("error"):
            raise error_in_body(choice["error"])
        # some servers write an empty reason into every chunk
        if choice.get("finish_reason"):
            self._reasons[index] = choice["finish_reason"]
            self.is_complete = True
        self._note_unknown(choice, CHOICE_FIELDS)
        delta = choice.get("delta")
        if delta:
            self._has_deltas = True
        elif not self._has_deltas:
            # a complete message: after deltas, it would only repeat them
            delta = choice.get("message")
        if not isinstance(delta, dict):
            return
        for name in _JOINED:
            if isinstance(delta.get(name), str):
                self._joined.setdefault(name, []).append(delta[name])
        details = delta.get("reasoning_details")
        if isinstance(details, list):
            self._details += details
        self._add_content(delta.get("content"), index, choice, modality)
        self._add_media(delta)
        if isinstance(delta.get("audio"), dict):
            self._sound.add(delta["audio"], choice)
        self._add_calls(delta.get("tool_calls"))
        if isinstance(delta.get("function_call"), dict):
            self._add_calls([{"function": delta["function_call"]}])
        self._note_unknown(delta, _READ)

    def _add_content(
        self,
        content: object,
        index: object,
        choice: Mapping[str, Any],
        modality: object,
    ) -> None:
        if content is None or content == "":
            return
        if modality == "audio" and isinstance(content, str):
            self._sound.add_file(content, choice)
        elif modality == "image" and isinstance(content, str):
            # a sentence instead of a picture remains text
            if read_encoded(content, only_data=True) is None:
                self._add_text(content, index)
            else:
                self._content.append({"type": "image", "data": content})
        elif isinstance(content, str):
            self._add_text(content, index)
        elif isinstance(content, list):
            for item in content:
                is_text = isinstance(item, dict) and item.get("type") == "text"
                if is_text and isinstance(item.get("text"), str):
                    self._add_text(item["text"], index)
                elif isinstance(item, str):
                    self._add_text(item, index)
                else:
                    self._content.append(item)
        else:
            self._content.append(content)

    def _add_text(self, text: str, index: object) -> None:
        """Extends the text of the same choice, unless a medium came after it."""
        for item in reversed(self._content):
            if not isinstance(item, _StreamedText):
                break
            if item.index == index:
                item.pieces.append(text)
                return
        self._content.append(_StreamedText(index, [text]))

    def _note_unknown(
        self, row: Mapping[str, Any], known_fields: frozenset[str]
    ) -> None:
        for name, value in row.items():
            if name not in known_fields:
                self._unknown.setdefault(name, []).append(value)

    def _add_media(self, delta: Mapping[str, Any]) -> None:
        """Adds the media in other fields of a delta.

        They keep the delta's position in the stream.
        """
        for name in _MEDIA:
            media = delta.get(name)
            for medium in media if isinstance(media, list) else [media]:
                # some servers repeat all media in the last chunk
                if medium is None or medium in self._known_media:
                    continue
                self._known_media.append(medium)
                address = _address(medium)
                if address and address in map(_address, self._content):
                    continue
                if name == "video":
                    self._content.append({"type": "video", "video": medium})
                elif isinstance(medium, dict):
                    self._content.append(medium)
                else:
                    self._content.append({"image_url": medium})
        audio = delta.get("audio")
        if audio is not None and not isinstance(audio, dict):
            self._content.append({"type": "audio", "audio": audio})

    def _add_calls(self, calls: object) -> None:
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict):
                function_names = self._calls.setdefault(call.get("index"), {"name": ""})
                function_names["name"] += str(function.get("name") or "")


@dataclass(slots=True)
class _StreamedText:
    """The parts of one text in a choice, as they arrived."""

    index: object
    pieces: list[str]


class _StreamedSound:
    """The sound of an answer, streamed as chunks of samples or as files."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._files: list[bytes] = []
        self._words: list[str] = []
        self._metadata: dict[str, Any] = {}
        self._rate: Any = ASSUMED_RATE

    def add(
        self,
        audio: Mapping[str, Any],
        choice: Mapping[str, Any],
    ) -> None:
        """Adds the sound in a delta."""
        self._note_metadata(choice)
        self._note_metadata(audio)
        self._rate = audio.get("sample_rate") or self._rate
        if isinstance(audio.get("data"), str):
            self._pieces.append(audio["data"])
        if isinstance(audio.get("transcript"), str):
            self._words.append(audio["transcript"])

    def add_file(self, text: str, choice: Mapping[str, Any]) -> None:
        """Adds a file in base64. vLLM-Omni sends a file in each chunk."""
        self._note_metadata(choice)
        encoded = read_encoded(text, only_data=True)
        if isinstance(encoded, EncodedBytes):
            self._files.append(encoded.data)

    def _note_metadata(self, row: Mapping[str, Any]) -> None:
        metadata = row.get("audio_metadata")
        if isinstance(metadata, dict):
            self._metadata = metadata

    def items(self) -> list[dict[str, Any]]:
        """Returns the sounds in the same form as in a reply that is not streamed."""
        sounds = self._joined_files(self._files, self._metadata)
        if any(self._pieces):
            beginnings = [piece for piece in self._pieces if piece.startswith(_RIFF)]
            if len(beginnings) > 1:
                files = [joined_base64([piece]) for piece in self._pieces]
                sounds += self._joined_files(files, {})
            else:
                data = joined_base64(self._pieces)
                sound = _samples(data, self._rate)
                sounds.append({**sound, "audio_metadata": self._metadata})
        words = "".join(self._words)
        if words and sounds:
            sounds[0]["transcript"] = words
        elif words:
            sounds.append({"transcript": words})
        return sounds

    @staticmethod
    def _joined_files(
        files: Sequence[bytes], metadata: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        if not files:
            return []
        if known_mime(files[0]):
            joined = files[0] if len(files) == 1 else joined_files(files)
            sounds = files if joined is None else [joined]
            return [{"data": base64_text(sound)} for sound in sounds]
        sound = _samples(b"".join(files), ASSUMED_RATE)
        return [{**sound, "audio_metadata": metadata}]


def _samples(data: bytes, rate: object) -> dict[str, Any]:
    return {"data": base64_text(data), "format": "pcm16", "sample_rate": rate}


def _joined(values: list[Any], depth: int = 0) -> Any:
    """Joins the values of a field in several chunks.

    Strings are concatenated, also inside objects.
    """
    if all(isinstance(value, str) for value in values):
        return "".join(values)
    if depth == _MAX_DEPTH or not all(isinstance(value, dict) for value in values):
        return values
    fields: dict[str, list[Any]] = {}
    for value in values:
        for name, inner in value.items():
            fields.setdefault(name, []).append(inner)
    return {name: _joined(fields[name], depth + 1) for name in fields}


def _address(item: object) -> object:
    """Returns the data URI or link of a picture, which identifies duplicates."""
    if isinstance(item, dict):
        inner = item.get("image_url") or item.get("url")
        return inner.get("url") if isinstance(inner, dict) else inner
    return item
