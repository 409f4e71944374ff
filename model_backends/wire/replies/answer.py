"""Reads the parts of an answer from the JSON of any server.

A reader reads the items of a reply in order, in any of the forms that servers write. It
warns about each unknown item, so no content is lost without a message.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mmeval.media import Interleaved, Media, Part, PartKind, find, text_part
from mmeval.model_backends.wire.failures import bad_reply
from mmeval.model_backends.wire.replies.encoded import (
    LEAST_LETTERS,
    Amount,
    EncodedBytes,
    Link,
    encoded_amount,
    known_mime,
    read_encoded,
)
from mmeval.model_backends.wire.replies.in_text import may_refer, references
from mmeval.model_backends.wire.replies.links import Links, link_error
from mmeval.model_backends.wire.replies.samples import (
    ASSUMED_RATE,
    is_samples_type,
    rate_of,
    wav_of_samples,
)
from mmeval.system.wording import shortened

_NAME_CHARS = 60
_TEXT_TYPES = frozenset(("text", "output_text", "input_text", "summary_text"))
_THOUGHT_TYPES = frozenset(
    ("thinking", "reasoning", "reasoning.text", "reasoning.summary", "thought")
)
_HIDDEN_TYPES = frozenset(("redacted_thinking", "reasoning.encrypted"))
_CALL_TYPES = frozenset(("tool_use", "tool_call", "function_call", "function"))
_SOUND_TYPES = frozenset(("input_audio", "output_audio", "audio", "audio_url"))
_PICTURE_TYPES = frozenset(
    ("image_url", "input_image", "image", "output_image", "image_file")
)
_MEDIA_TYPES = (
    _SOUND_TYPES
    | _PICTURE_TYPES
    | {"video", "video_url", "file", "input_file", "document", "output_video"}
)
_DATA_FIELDS = ("b64_json", "image_base64", "data", "file_data", "base64")
"""Fields that contain base64 or a data URI."""
_ADDRESS_FIELDS = ("url", "uri", "fileUri", "file_uri", "image_url")
"""Fields that contain a data URI, a link, or base64."""
_INNER_FIELDS = (
    "source",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "image_url",
    "video_url",
    "audio_url",
    "input_audio",
    "image",
    "audio",
    "video",
    "file",
)
"""Fields that contain an object with one of the fields above."""
_FIELDS_OF_DATA = ("image", "audio", "input_audio", "video")
"""Inner fields that may contain base64 instead of an object."""
_ID_FIELDS = ("file_id", "fileId")
_FILE_FIELDS = ("fileUri", "file_uri")
"""Fields that contain an address or a file name, but never bare base64."""
_MIME_FIELDS = ("mime_type", "mimeType", "media_type", "mediaType")
_MAX_DEPTH = 3
"""Maximum number of objects around the data of a medium.

``{"image_url": {"url": "data:..."}}`` has two objects.
"""

_IGNORED_FIELDS = frozenset(
    (
        "annotations",
        "citations",
        "encrypted_content",
        "id",
        "logprobs",
        "metrics",
        "obfuscation",
        "partial_image_b64",
        "prompt_logprobs",
        "prompt_token_ids",
        "revised_prompt",
        "signature",
        "system_fingerprint",
        "thinking_blocks",
        "thoughtSignature",
        "thought_signature",
        "thought_signatures",
        "token_ids",
        "type",
        "usage",
    )
)
"""Fields that contain no part of the answer, at any depth."""
_MAX_JSON_DEPTH = 12
_SAMPLE_FORMATS = frozenset(("pcm", "pcm16", "pcm_s16le", "s16le", "l16", "raw"))
_SIGNED_SOUNDS = frozenset(("audio/wav", "audio/flac", "audio/ogg", "audio/x-w64"))
"""Sound formats with signatures that do not occur by chance."""
_COMMON_FILES = frozenset(
    ("image/png", "image/jpeg", "image/webp", "image/gif", "application/pdf")
)
_MAX_COUNT, _MAX_CHANNELS = 1_000_000, 64
_SHOWN_KINDS = frozenset(("image", "audio", "video"))
_NO_LINKS = Links()
"""Links without allowed hosts, so no link is collected."""
_NO_IMAGE_TEXT = "Image generation completed but no images were produced."
"""The text that vLLM-Omni writes if it draws no picture."""


class AnswerReader:
    """A reader for the items of one answer. ``answer`` returns the parts.

    ``wants`` are the requested kinds. ``links`` are the links that may be fetched.
    ``mime`` is the type of sounds that the server or the request states.
    """

    def __init__(
        self,
        wants: Collection[PartKind] = (),
        links: Links | None = None,
        mime: str = "",
    ) -> None:
        self.refused = False
        """True if the model itself refuses."""
        self._links = _NO_LINKS if links is None else links
        self._wants_media = not _SHOWN_KINDS.isdisjoint(wants)
        self._mime = mime
        self._sound_metadata: Mapping[str, Any] = {}
        self._pieces: list[str | Part] = []
        self._thoughts: list[str] = []
        self._transcripts: list[tuple[Part | None, str]] = []
        self._warnings: dict[str, None] = {}
        self._plain_link = ""
        """The first link in a text without markup of media.

        If the answer has no other medium, this link may lead to the requested medium.
        """
        self._omissions = 0

    # --- the content of a reply -------------------------------------------------------

    def message(
        self, message: Mapping[str, Any], sound_metadata: object = None
    ) -> None:
        """Reads a chat message: its content, then its other fields.

        ``sound_metadata`` is the metadata of the sound in the choice.
        """
        if isinstance(sound_metadata, dict):
            self._sound_metadata = sound_metadata
        content = message.get("content")
        if isinstance(content, str) and not _has_more(message):
            self._pieces += self._split(content)
            return
        pieces, used = self._content(message)
        refusal = message.get("refusal")
        if refusal and isinstance(refusal, str):
            self.refused = True
            if refusal not in pieces:
                pieces.append(refusal)
        self._read_thoughts(message)
        self._note_calls(message)
        read = self._texts(pieces)
        self._pieces += read
        self._read_other_media(message, read, used)
        self.unknown_fields(message, _MESSAGE_FIELDS)

    def _read_other_media(
        self,
        message: Mapping[str, Any],
        read: Sequence[str | Part],
        used: Sequence[object],
    ) -> None:
        """Reads the media in all fields except the content.

        ``read`` are the texts and media of the content. These already include the items
        ``used``.
        """
        media = [piece.media for piece in read if isinstance(piece, Part)]
        for name in ("images", "image", "audio", "video"):
            value = message.get(name)
            for item in value if isinstance(value, list) else [value]:
                if item is None or any(item is media_item for media_item in used):
                    continue
                if name in ("images", "image"):
                    parts = self._medium(item, "image")
                else:
                    parts = self._medium({"type": name, name: item}, name)
                for part in parts:
                    # some servers write a medium both in the content and in a field
                    if part.media in media:
                        media.remove(part.media)
                    else:
                        self._pieces.append(part)

    def _content(
        self, message: Mapping[str, Any]
    ) -> tuple[list[str | Part], list[object]]:
        """Returns the content's texts and media, and the items of ``images`` in it."""
        content = message.get("content")
        if content is None or isinstance(content, str):
            return ([content] if content else []), []
        pieces: list[str | Part] = []
        used: list[object] = []
        for item in content if isinstance(content, list) else [content]:
            if isinstance(item, dict) and item.get("type") == "image_ref":
                picture = _referenced_image(item, message.get("images"))
                if picture is not None:
                    used.append(picture)
                    pieces += self._medium(picture, "image")
                    continue
            pieces += self._item(item)
        return pieces, used

    def items(self, items: object) -> None:
        """Reads the items of a list in order, such as ``data`` of pictures."""
        for item in items if isinstance(items, list) else [items]:
            self._pieces += self._texts(self._item(item))

    def content(self, items: Sequence[object]) -> None:
        """Reads items in order. Joins neighbouring texts, and keeps parts unchanged."""
        pieces: list[str | Part] = []
        for item in items:
            pieces += [item] if isinstance(item, Part) else self._item(item)
        self._pieces += self._texts(pieces)

    def picture(self, item: object) -> None:
        """Reads an item of a list of pictures. The item is a medium in any form."""
        self._pieces += self._medium(item, "image")

    def sound(self, data: bytes, mime: str = "") -> None:
        """Adds the bytes of a sound, with or without a header."""
        source = _MediumSource("", only_data=True, mime=mime)
        self._pieces.append(self._part_of(data, source, "audio"))

    def thought(self, text: object) -> None:
        """Adds hidden reasoning."""
        if isinstance(text, str) and text:
            self._thoughts.append(text)

    def unknown_fields(self, row: Mapping[str, Any], known: frozenset[str]) -> None:
        """Warns about unknown fields that contain a medium."""
        if row.keys() <= known:
            return
        for name in row.keys() - known:
            size = _hidden_size(row[name])
            if size is not None:
                self.warn_left_out(name, size)

    def warn(self, text: str) -> None:
        self._warnings.setdefault(text)

    # --- the answer -------------------------------------------------------------------

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def answer(self, *, ended: bool = True) -> Interleaved:
        """Returns the parts, hidden reasoning first.

        ``ended`` is True if the answer was not cut off. Raises CallError ``bad_reply``
        if nothing could be read.
        """
        pieces = self._pieces
        has_text = any(isinstance(piece, str) for piece in pieces)
        if self._transcripts and not has_text:
            pieces = []
            transcripts = {id(part): text for part, text in self._transcripts}
            for piece in self._pieces:
                if id(piece) in transcripts:
                    pieces.append(transcripts[id(piece)])
                pieces.append(piece)
            # for sounds that could not be read, the transcripts are used
            pieces += [text for part, text in self._transcripts if part is None]
        thought = "".join(self._thoughts)
        if self._omissions and not thought and not any(pieces):
            raise bad_reply(
                f"no part of the answer can be read: {'; '.join(self._warnings)}"
            )
        output = _interleaved(pieces)
        if self._plain_link and not output.media():
            self.warn(link_error(self._plain_link).text)
        if not thought:
            return output
        if ended and output.empty:
            self.warn(
                "the answer is empty except for hidden reasoning "
                f"({len(thought):,} characters)"
            )
        return Interleaved((Part("reasoning", text=thought), *output.parts))

    # --- items ------------------------------------------------------------------------

    def _item(self, item: object) -> list[str | Part]:
        """Returns the texts and media in an item of the content.

        The item may have any form.
        """
        if isinstance(item, str):
            return [item]
        if isinstance(item, dict):
            return self._object(item)
        if item is not None:
            self.warn_left_out(f"a JSON {type(item).__name__}", _size_of(item))
        return []

    def _object(self, item: dict[str, Any]) -> list[str | Part]:
        kind = _type_of(item)
        pieces: list[str | Part] = []
        if kind in _HIDDEN_TYPES:
            pass
        elif kind in _THOUGHT_TYPES or item.get("thought") is True:
            self.thought(_thought(item))
        elif kind == "refusal" or isinstance(item.get("refusal"), str):
            self.refused = True
            pieces.append(str(item.get("refusal") or ""))
        elif kind in _CALL_TYPES or "functionCall" in item or "function_call" in item:
            self._note_call(item)
        elif kind in _TEXT_TYPES or (kind not in _MEDIA_TYPES and "text" in item):
            stated = item.get("text")
            text = stated.get("value") if isinstance(stated, dict) else stated
            self.unknown_fields(item, _TEXT_FIELDS)
            if isinstance(text, str):
                pieces.append(text)
            elif text is not None:
                self.warn_left_out("text", _size_of(text))
        elif kind in _MEDIA_TYPES or (kind is None and item.keys() & _MEDIA_FIELDS):
            pieces += self._medium(item, _expected(kind, item))
        elif kind is None:
            self.warn_left_out("an item without a type", _size_of(item))
        else:
            # an item of an unknown type is a medium if its bytes have a signature;
            # other data and addresses may be anything
            source = _medium_source(item)
            encoded = None if source is None else read_encoded(source.text)
            if isinstance(encoded, EncodedBytes) and known_mime(encoded.data):
                pieces += self._medium(item, "")
            else:
                self.warn_left_out(kind, _size_of(item))
        return pieces

    def _medium(self, item: object, expected: str) -> list[Part]:
        """Returns the medium of an item as a list with one part.

        The list is empty, with a warning, for an item without data. Raises CallError
        for a link that cannot be fetched.
        """
        source = _medium_source(item)
        stated_type = item.get("type") if isinstance(item, dict) else None
        name = str(stated_type or expected or "a medium")
        if source is None:
            self.warn_left_out(name, _size_of(item))
            return []
        if source.is_file_id:
            raise link_error(source.text)
        parts: list[Part] = []
        encoded = read_encoded(source.text, only_data=source.only_data)
        if not source.text:
            self.warn_left_out(name, 0)
        elif encoded is None:
            self.warn_left_out(f"{name} that cannot be decoded", _size_of(source.text))
        elif isinstance(encoded, Link):
            address = encoded.address
            if not self._links.may_fetch(address):
                raise link_error(address)
            medium = self._links.medium(address)
            if isinstance(medium, Media):
                parts.append(_medium_part(medium))
            elif medium:
                raise link_error(address, medium)
        else:
            stated = source._replace(mime=encoded.mime or source.mime)
            parts.append(self._part_of(encoded.data, stated, expected))
            if isinstance(item, dict):
                self.unknown_fields(item, _ITEM_FIELDS)
        if source.transcript:
            self._transcripts.append((parts[0] if parts else None, source.transcript))
        return parts

    def _part_of(
        self,
        data: bytes,
        source: _MediumSource,
        expected: str,
    ) -> Part:
        """Returns a part for the bytes of a medium. The bytes decide its kind.

        A sound without a header becomes a WAV.
        """
        mime = source.mime or self._mime
        is_sound = expected == "audio" or source.mime.lower().startswith("audio/")
        if is_sound and _lacks_header(data, mime):
            completed = _with_metadata(source, {"audio_metadata": self._sound_metadata})
            rate = completed.rate or rate_of(source.mime) or rate_of(self._mime)
            if not rate:
                rate = ASSUMED_RATE
                self.warn(
                    "the sound of the answer has no header; it is read as samples of "
                    f"16 bits, one channel, {rate:,} Hz"
                )
            data = wav_of_samples(data, rate, completed.channels)
        return _medium_part(Media.from_bytes(data))

    # --- texts ------------------------------------------------------------------------

    def _texts(self, pieces: list[str | Part]) -> list[str | Part]:
        """Joins neighbouring texts, then splits off the media in the texts."""
        if len(pieces) == 1 and isinstance(pieces[0], str):
            return self._split(pieces[0])
        result: list[str | Part] = []
        run: list[str] = []
        for piece in pieces:
            if isinstance(piece, str):
                run.append(piece)
                continue
            result += self._split("".join(run))
            result.append(piece)
            run.clear()
        return result + self._split("".join(run))

    def _split(self, text: str) -> list[str | Part]:
        """Splits a text at its data URIs and at fetched links."""
        may_link = self._wants_media and ("http" in text or "](" in text or "<" in text)
        if not may_refer(text) and not may_link:
            if len(text) < _NAME_CHARS * 2 and text.strip() == _NO_IMAGE_TEXT:
                self.warn("the server reports that no picture was drawn")
            return [text] if text else []
        pieces: list[str | Part] = []
        position = 0
        for reference in references(text, links=may_link):
            if reference.kind == "data":
                part = self._part_of_data_uri(reference.address)
            else:
                part = self._part_of_link(reference.address, shown=reference.shown)
            if part is None:
                continue
            pieces += [text[position : reference.start], part]
            position = reference.end
        pieces.append(text[position:])
        return [piece for piece in pieces if piece]

    def _part_of_data_uri(self, uri: str) -> Part | None:
        encoded = read_encoded(uri)
        if isinstance(encoded, EncodedBytes):
            is_sound = encoded.mime.lower().startswith("audio/")
            if is_sound or known_mime(encoded.data):
                source = _MediumSource("", True, encoded.mime)
                return self._part_of(encoded.data, source, "")
        self.warn(f"a data URI of {len(uri):,} characters in the text is invalid")
        return None

    def _part_of_link(self, address: str, *, shown: bool) -> Part | None:
        if self._links.may_fetch(address):
            medium = self._links.medium(address)
            if isinstance(medium, Media) and medium.kind != "document":
                return _medium_part(medium)
            if shown and isinstance(medium, str) and medium:
                self.warn(link_error(address, medium).text)
        elif shown:
            self.warn(link_error(address).text)
        else:
            self._plain_link = self._plain_link or address
        return None

    # --- reasoning, tool calls, omissions ---------------------------------------------

    def _read_thoughts(self, message: Mapping[str, Any]) -> None:
        for name in ("reasoning_content", "reasoning"):
            text = message.get(name)
            if isinstance(text, str) and text:
                self._thoughts.append(text)
                return
        details = message.get("reasoning_details")
        if not isinstance(details, list):
            return
        for detail in details:
            if isinstance(detail, dict) and _type_of(detail) not in _HIDDEN_TYPES:
                self.thought(_thought(detail))

    def _note_calls(self, message: Mapping[str, Any]) -> None:
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            for call in calls:
                self._note_call(call)
        if message.get("function_call"):
            self._note_call(message["function_call"])

    def _note_call(self, call: object) -> None:
        name = "?"
        if isinstance(call, dict):
            function = call
            for field in ("function", "functionCall", "function_call"):
                if isinstance(call.get(field), dict):
                    function = call[field]
                    break
            name = str(function.get("name") or "?")
        self.warn(
            f"the model called the tool {shortened(name, _NAME_CHARS)!r}; mmeval does "
            "not answer this call, and a call is not a part of an answer"
        )

    def warn_left_out(self, name: str, size: Amount | int) -> None:
        """Warns about content that the answer lacks, and states its name and size."""
        amount = Amount(size) if isinstance(size, int) else size
        encoded = ""
        if amount.letters:
            encoded = f", {amount.letters:,} characters of base64"
        self._omissions += 1
        self.warn(
            f"left out of the answer: {shortened(name, _NAME_CHARS)} "
            f"({amount.size:,} bytes{encoded})"
        )


_MESSAGE_FIELDS = _IGNORED_FIELDS | {
    "audio",
    "content",
    "function_call",
    "image",
    "images",
    "name",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "refusal",
    "role",
    "tool_calls",
    "video",
}
_MEDIA_FIELDS = frozenset((*_DATA_FIELDS, *_ADDRESS_FIELDS, *_INNER_FIELDS))
_ITEM_FIELDS = _IGNORED_FIELDS | _MEDIA_FIELDS
"""Fields of an item that is a medium. One of these fields contains the data."""
_TEXT_FIELDS = _IGNORED_FIELDS | {"text"}


class _MediumSource(NamedTuple):
    """The data or address of a medium in an item, and the item's metadata."""

    text: str
    only_data: bool
    mime: str = ""
    rate: int = 0
    channels: int = 1
    transcript: str = ""
    is_file_id: bool = False


def _has_more(message: Mapping[str, Any]) -> bool:
    """Returns True if a message has fields besides its content."""
    for name, value in message.items():
        if value and name not in ("content", "role"):
            return True
    return False


def _medium_source(item: object) -> _MediumSource | None:
    """Returns the data or address in an item, or None if it has neither.

    At most ``_MAX_DEPTH`` nested objects are searched.
    """
    source = _MediumSource("", only_data=False)
    has_data = False
    for _ in range(_MAX_DEPTH + 1):
        if isinstance(item, str):
            return source._replace(text=item)
        if not isinstance(item, dict):
            break
        source = _with_metadata(source, item)
        for name in (*_DATA_FIELDS, *_ADDRESS_FIELDS, *_ID_FIELDS):
            text = item.get(name)
            if isinstance(text, str):
                has_data = True
                if text:
                    is_file_name = name in _FILE_FIELDS and ":" not in text
                    return source._replace(
                        text=text,
                        only_data=name in _DATA_FIELDS,
                        is_file_id=name in _ID_FIELDS or is_file_name,
                    )
        name = _inner_name(item)
        item = item.get(name)
        source = source._replace(only_data=name in _FIELDS_OF_DATA)
    return source if has_data or source.transcript else None


def _with_metadata(source: _MediumSource, item: Mapping[str, Any]) -> _MediumSource:
    """Adds the facts that an object states about its medium to a source."""
    mime = ""
    for name in _MIME_FIELDS:
        if isinstance(item.get(name), str):
            mime = item[name]
            break
    form = item.get("format")
    if not mime and isinstance(form, str) and form.lower() in _SAMPLE_FORMATS:
        mime = "audio/pcm"
    metadata = item.get("audio_metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    rate = _count(metadata.get("sample_rate_hz")) or _count(item.get("sample_rate"))
    channels = _count(metadata.get("channels")) or _count(item.get("channels"))
    transcript = item.get("transcript")
    return source._replace(
        mime=source.mime or mime,
        rate=source.rate or rate,
        channels=min(channels, _MAX_CHANNELS) or source.channels,
        transcript=transcript if isinstance(transcript, str) else source.transcript,
    )


def _count(value: object) -> int:
    """Returns a number of samples or channels, or 0 for any other value."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 10:
        value = int(value)
    return value if isinstance(value, int) and 0 < value < _MAX_COUNT else 0


def _inner_name(item: Mapping[str, Any]) -> str:
    """Returns the name of the field with the object that contains the data.

    The field is the one that ``type`` names, or a known field.
    """
    kind = item.get("type")
    if isinstance(kind, str) and item.get(kind) is not None:
        return kind
    for name in _INNER_FIELDS:
        if item.get(name) is not None:
            return name
    for name in item:
        if name.endswith("_url"):
            return name
    return ""


def _type_of(item: Mapping[str, Any]) -> str | None:
    """Returns the stated type of an item as text, or None without one."""
    kind = item.get("type")
    return kind if kind is None or isinstance(kind, str) else str(kind)


def _expected(kind: object, item: Mapping[str, Any]) -> str:
    """Returns the kind that an item states. The bytes may decide differently."""
    if kind in _SOUND_TYPES or "input_audio" in item or "audio_url" in item:
        return "audio"
    if kind in _PICTURE_TYPES or "image_url" in item:
        return "image"
    return ""


def _referenced_image(
    item: Mapping[str, Any],
    images: object,
) -> dict[str, Any] | None:
    """Returns the item of ``images`` that an item references by id."""
    reference = item.get("image_ref")
    image_id = reference.get("id") if isinstance(reference, dict) else reference
    for image in images if isinstance(images, list) else ():
        if isinstance(image, dict) and image_id and image.get("id") == image_id:
            return image
    return None


def _lacks_header(data: bytes, mime: str) -> bool:
    """Returns True if the bytes of a sound are samples without a header.

    Samples may match the signature of a format by chance. Therefore only the signatures
    of sounds, videos and common files count as headers.
    """
    mime_of_bytes = known_mime(data)
    if (
        mime_of_bytes in _SIGNED_SOUNDS
        or mime_of_bytes in _COMMON_FILES
        or data.startswith(b"ID3")
    ):
        return False
    return is_samples_type(mime) or not mime_of_bytes.startswith(("audio/", "video/"))


def _medium_part(medium: Media) -> Part:
    return Part(medium.kind, media=medium)


def _interleaved(pieces: Sequence[str | Part]) -> Interleaved:
    """Joins text and media in order.

    If the text has placeholders, they set the positions of the media.
    """
    if len(pieces) == 1:
        [piece] = pieces
        if isinstance(piece, str) and "<" not in piece:
            return Interleaved((text_part(piece),))
    text = "".join([piece for piece in pieces if isinstance(piece, str)])
    media = [piece for piece in pieces if isinstance(piece, Part)]
    if any(find(text)):
        return Interleaved.from_reply(text, media)
    parts = []
    for piece in pieces:
        if isinstance(piece, Part):
            parts.append(piece)
        elif piece:
            parts.append(text_part(piece))
    return Interleaved(tuple(parts))


def _thought(item: Mapping[str, Any]) -> str:
    """Returns the text of an item of hidden reasoning."""
    for name in ("thinking", "text", "reasoning", "content", "summary"):
        words = item.get(name)
        if isinstance(words, str) and words:
            return words
        if isinstance(words, list) and words:
            text = ""
            for part in words:
                inner = part.get("text") or "" if isinstance(part, dict) else part
                text += str(inner)
            return text
    return ""


# --- sizes of omissions ---------------------------------------------------------------


def _texts_in(value: object, depth: int = 0) -> Iterator[str]:
    """Yields the strings in a JSON value that may belong to an answer."""
    if isinstance(value, str):
        yield value
    elif depth < _MAX_JSON_DEPTH and isinstance(value, dict):
        for name, inner in value.items():
            if name not in _IGNORED_FIELDS:
                yield from _texts_in(inner, depth + 1)
    elif depth < _MAX_JSON_DEPTH and isinstance(value, list):
        for inner in value:
            yield from _texts_in(inner, depth + 1)


def _hidden_size(value: object) -> Amount | None:
    """Returns the amount of media in a JSON value, or None without any."""
    count = letters = 0
    for text in _texts_in(value):
        if len(text) > LEAST_LETTERS or text[:5].lower() == "data:":
            amount = encoded_amount(text)
            count += amount.size
            letters += amount.letters
    return Amount(count, letters) if count else None


def _size_of(item: object) -> Amount:
    """Returns the amount of media in an item, or of text if it has no media."""
    hidden = _hidden_size(item)
    if hidden is not None:
        return hidden
    words = 0
    for text in _texts_in(item):
        words += len(text.encode("utf-8", "replace"))
    return Amount(words or len(str(item)))
