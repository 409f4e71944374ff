"""The formats of pictures and sounds that a server accepts. Others are re-encoded."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mmeval.errors import ContentError, MissingError, UnknownNameError, UsageError
from mmeval.media import Media, PartKind, png, wav
from mmeval.model_backends.wire.failures import CallError
from mmeval.records import Request

PICTURES: Mapping[str, str] = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "bmp": "image/bmp",
    "tiff": "image/tiff",
    "avif": "image/avif",
    "heic": "image/heic",
    "svg": "image/svg+xml",
}
SOUNDS: Mapping[str, str] = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "aac": "audio/aac",
    "aiff": "audio/aiff",
    "webm": "audio/webm",
}
"""MIME types by the interface's names for formats."""
DEFAULT_PICTURES = ("png", "jpeg", "webp", "gif")
DEFAULT_SOUNDS = ("wav", "mp3")
_PLAIN_PICTURE, _PLAIN_SOUND = "png", "wav"
"""The formats to which all other formats are converted."""


class Formats(NamedTuple):
    """The names of the formats that are sent unchanged."""

    images: tuple[str, ...] = DEFAULT_PICTURES
    sounds: tuple[str, ...] = DEFAULT_SOUNDS

    def mimes(self, kind: PartKind) -> frozenset[str] | None:
        """Returns the MIME types that the server accepts.

        None means that media of this kind are always sent unchanged.
        """
        if kind == "image":
            return frozenset(PICTURES[name] for name in self.images)
        if kind == "audio":
            return frozenset(SOUNDS[name] for name in self.sounds)
        return None

    def takes(self, kind: PartKind, media: Media) -> bool:
        mimes = self.mimes(kind)
        return mimes is None or media.mime in mimes

    def sound_name(self, mime: str) -> str:
        """Returns the name of a sound's format, or an empty string.

        The string is empty if the server does not accept the format.
        """
        for name in self.sounds:
            if SOUNDS[name] == mime:
                return name
        return ""


DEFAULT_FORMATS = Formats()


def checked_formats(
    argument: str,
    value: str,
    mimes: Mapping[str, str],
) -> list[str]:
    """Returns the formats in a string such as ``png+jpeg``.

    Raises UnknownNameError for an unknown format. Raises UsageError if the format that
    others are converted to is missing.
    """
    normalized = value.lower().replace("jpg", "jpeg")
    names = [name.strip() for name in normalized.split("+")]
    for name in names:
        if name not in mimes:
            raise UnknownNameError(
                f"format in {argument}", name, mimes, f"Known: {', '.join(mimes)}."
            )
    plain = _PLAIN_PICTURE if mimes is PICTURES else _PLAIN_SOUND
    if plain not in names:
        raise UsageError(
            f"{argument}={value!r} lacks {plain}; add it, because other formats are "
            f"converted to {plain}",
            name=argument,
        )
    return list(dict.fromkeys(names))


def reencoded(kind: PartKind, media: Media) -> Media:
    """Converts a picture to PNG and a sound to 16-bit WAV.

    The PNG is upright, has 8 bits, and shows the first frame of an animation. Raises
    CallError if the medium cannot be decoded.
    """
    # imported late, since a run of text decodes no media
    from mmeval.media.decode import audio, image

    try:
        if kind == "image":
            return png(image(media))
        sound = audio(media)
        return wav(sound.samples, sound.rate)
    except (ContentError, ValueError) as error:
        raise CallError("bad_request", str(error)) from None
    except MissingError as error:
        raise CallError("internal", str(error)) from None


def notes(request: Request, formats: Formats) -> Iterator[str]:
    """Yields a note for each medium of a request that is re-encoded."""
    for message in request.messages:
        for part in message.content.parts:
            media = part.media
            if media is None or formats.takes(part.kind, media):
                continue
            target = "PNG" if part.kind == "image" else "WAV"
            name = part.label or f"a medium ({part.kind})"
            note = f"{name} is {media.mime} and was sent as {target}"
            if part.kind == "image" and _is_animated(media):
                note += " (first frame only)"
            yield note


def _is_animated(media: Media) -> bool:
    """Returns True if the header of a picture states more than one frame."""
    import PIL.Image

    try:
        with PIL.Image.open(io.BytesIO(media.read())) as picture:
            return bool(getattr(picture, "is_animated", False))
    except Exception:  # the decoder reports a broken picture later
        return False
