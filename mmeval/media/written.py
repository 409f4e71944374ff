"""Reads content as written in data rows and on the command line.

- ``"a <<image1>> b"``: a text with tags for the media of the row.
- ``{"text": "a <<image1>> b", "media": {"image1": "img/a.png"}}``: a text with its
  media. Media without a tag follow the text.
- ``[{"type": "text", "text": "a"}, {"type": "image", "path": "img/a.png"}]``: parts in
  order. Tags in the texts of such parts are not parsed. Parts in the forms of chat data
  are also read, such as ``{"type": "image_url", "image_url": {"url": "data:..."}}``,
  and ``{"type": "image"}`` for the next picture of the row.

Each key of ``media`` is a kind and a number (``image1``, ``audio2``, ``3d1``). The
value of ``code1`` is the code itself. Any other value is a path, base64 or a data URI,
a mapping with one of these or bytes, or a sound as ``{"array": ..., "sampling_rate":
...}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmeval.errors import UnknownNameError, UsageError
from mmeval.media.embedded import embedded_medium, is_sound, sound_medium
from mmeval.media.media import MEDIA_KINDS, Media
from mmeval.media.parts import Interleaved, Part, text_part
from mmeval.media.placeholders import (
    DEFAULT_SPELLINGS,
    canonical_label,
    find,
    label_kind,
)

Resolve = Callable[[str, str], Media]
"""A function ``resolve(path, where)`` that returns the medium at a path in the data.

It raises UsageError with a message that begins with ``where``.
"""

_LABEL = re.compile(r"(image|audio|video|document|code|3d)[0-9]{1,9}")
_SAME_TYPES = {
    "input_text": "text",
    "output_text": "text",
    "image_url": "image",
    "input_image": "image",
    "audio_url": "audio",
    "input_audio": "audio",
    "video_url": "video",
    "input_video": "video",
}
"""The kind of part for each ``type`` of a part in chat data."""
_MEDIUM_KEYS = ("path", "url", "bytes", "data", "source")
"""The keys for the medium of a part, or of a mapping in a part."""
_TYPE_NAMES: Mapping[type, str] = {
    type(None): "missing",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
    bytes: "bytes",
}


class ContentReader:
    """Reads the content of a row. ``shared`` maps labels to the media of the row."""

    __slots__ = ("_named", "resolve", "shared", "spellings")

    def __init__(
        self,
        resolve: Resolve,
        shared: Mapping[str, Any] | None = None,
        spellings: Sequence[str] = DEFAULT_SPELLINGS,
    ) -> None:
        self.resolve = resolve
        self.spellings = spellings
        self.shared = self._media(shared, "media") if shared else {}
        self._named: set[str] = set()

    def read(self, value: Any, where: str) -> Interleaved:
        """Reads content in any form.

        Raises UsageError with the position of the fault.
        """
        if isinstance(value, str):
            return self._text(value, {})
        if isinstance(value, list):
            parts: list[Part] = []
            for position, part in enumerate(value):
                parts.append(self._part(part, f"{where}[{position}]"))
            return Interleaved(tuple(parts))
        if not isinstance(value, Mapping):
            raise UsageError(
                f'{where} is {_named_type(value)}; write a text, {{"text", "media"}} '
                "or a list of parts",
                name=where,
            )
        if "type" in value:
            raise UsageError(
                f"{where} is a single part; put it into a list", name=where
            )
        unknown = value.keys() - {"text", "media"}
        if unknown:
            raise UnknownNameError(f"key of {where}", min(unknown), ("text", "media"))
        text = value.get("text") or ""
        if not isinstance(text, str):
            raise UsageError(
                f"{where}.text is {_named_type(text)}, not a text", name=f"{where}.text"
            )
        return self._text(text, self._media(value.get("media"), f"{where}.media"))

    def unnamed(self) -> list[str]:
        """Returns the labels of row media that no text has named so far."""
        return [label for label in self.shared if label not in self._named]

    def check_all_named(self) -> None:
        """Raises UsageError if the row has a medium that no text has named."""
        unnamed = self.unnamed()
        if unnamed:
            label = unnamed[0]
            raise UsageError(
                f'no text contains a tag for the medium "{label}"; add the tag '
                f"<<{label}>> to a text"
            )

    def _text(self, text: str, text_media: Mapping[str, Media | str]) -> Interleaved:
        if not self.shared:
            return Interleaved.from_text(text, text_media, spellings=self.spellings)
        tagged = {tag.label for tag in find(text, self.spellings)}
        self._named |= tagged
        media = {label: item for label, item in self.shared.items() if label in tagged}
        media.update(text_media)
        return Interleaved.from_text(text, media, spellings=self.spellings)

    def _media(self, mapping: Any, where: str) -> dict[str, Media | str]:
        if mapping is None:
            return {}
        if not isinstance(mapping, Mapping):
            raise UsageError(
                f"{where} is {_named_type(mapping)}, not a mapping from labels to "
                "paths",
                name=where,
            )
        by_label: dict[str, Media | str] = {}
        for key, value in mapping.items():
            label = canonical_label(str(key))
            if not _LABEL.fullmatch(label):
                raise UsageError(
                    f"{where} {key!r} is not a label; use a kind and a number, such as "
                    "image1",
                    name=where,
                )
            if value is None:  # Parquet has null for the labels of other rows.
                continue
            if isinstance(value, str) and label.startswith("code"):
                by_label[label] = value
                continue
            place = f"{where} {key}"
            medium = self._medium_of(value, place)
            if medium is None:
                raise UsageError(
                    f"{place} is {_named_type(value)}, not a path", name=place
                )
            by_label[label] = medium
        return by_label

    def _medium_of(self, value: Any, where: str) -> Media | None:
        """Returns the medium that a value contains, if any.

        The value may be the medium itself, content or a mapping that contains it, its
        path, its bytes or base64, or a sound as numbers. For any other value, the
        result is None.
        """
        if isinstance(value, Media):
            return value
        if isinstance(value, Interleaved):
            return next(iter(value.media()), None)
        if isinstance(value, Mapping) and not is_sound(value):
            for key in _MEDIUM_KEYS:
                if value.get(key) is not None:
                    return self._medium_of(value[key], where)
        medium: Media | None = None
        try:
            if isinstance(value, bytes):
                medium = Media.from_bytes(value)
            elif isinstance(value, str):
                medium = embedded_medium(value) or self.resolve(value, where)
            elif is_sound(value):
                medium = sound_medium(value)
        except UsageError as error:
            message = str(error)
            fault = message if message.startswith(where) else f"{where}: {message}"
            raise UsageError(fault, name=where) from None
        return medium

    def _next_shared(self, kind: str) -> Media | None:
        """Returns the first medium of a kind that no text or part has named."""
        for label in self.unnamed():
            medium = self.shared[label]
            if label_kind(label) == kind and isinstance(medium, Media):
                self._named.add(label)
                return medium
        return None

    def _part(self, part: Any, where: str) -> Part:
        if not isinstance(part, Mapping):
            raise UsageError(
                f'{where} is {_named_type(part)}, not a part such as {{"type": '
                f'"text", "text": "..."}}',
                name=where,
            )
        type_name = part.get("type")
        kind = _SAME_TYPES.get(str(type_name), type_name)
        if kind in ("text", "code"):
            text = part.get("text")
            if not isinstance(text, str):
                raise UsageError(
                    f'{where} needs "text", which is {_named_type(text)}', name=where
                )
            return text_part(text) if kind == "text" else Part("code", text, raw=text)
        if kind not in MEDIA_KINDS:
            raise UnknownNameError(
                f"type of part in {where}:", str(kind), ("text", "code", *MEDIA_KINDS)
            )
        keys = (*_MEDIUM_KEYS, kind, f"{kind}_url", str(type_name))
        media_values = [part[key] for key in keys if part.get(key) is not None]
        medium = (
            self._medium_of(media_values[0], where)
            if media_values
            else self._next_shared(kind)
        )
        if medium is None:
            path = media_values[0] if media_values else None
            raise UsageError(
                f'{where} needs "path", which is {_named_type(path)}', name=where
            )
        return Part(kind, media=medium)


def _named_type(value: Any) -> str:
    return _TYPE_NAMES.get(type(value), type(value).__name__)
