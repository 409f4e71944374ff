"""Guards decoders.

This module checks that files are complete, raises typed errors, and silences the
warnings of libraries. A medium that cannot be read is *damaged* (CorruptMediaError) or
*unsupported* by mmeval (UnsupportedMediaError). Only damage is the fault of the author.
"""

from __future__ import annotations

import contextlib
import io
import logging
import re
import warnings
from collections.abc import Iterable, Iterator

from mmeval.errors import (
    ContentError,
    CorruptMediaError,
    MediaLimitError,
    MmevalError,
    UnsupportedMediaError,
)
from mmeval.media.decode.container_header import missing_bytes
from mmeval.media.decode.limits import DecodeLimits, within
from mmeval.media.media import Media, MediaKind
from mmeval.media.media_type import (
    OLD_OFFICE,
    SNIFF_BYTES,
    UNKNOWN_MIME,
    has_old_directory,
)
from mmeval.media.zip_type import ZIP, has_directory

_UNSUPPORTED_CLASSES = (
    "DecoderNotFoundError",
    "DemuxerNotFoundError",
    "ExperimentalError",
    "PatchWelcomeError",
    "UnknownCodecError",
)
"""The names of PyAV's errors for unsupported media. The names are used instead of the
classes, because PyAV is optional."""
_UNSUPPORTED_WORDS = re.compile(
    r"\b(?:unsupported|not (?:yet )?(?:supported|implemented|available)|"
    r"unknown (?:pixel mode|raw mode|compression|data organization)|cannot handle)\b",
    re.IGNORECASE,
)
"""Phrases of Pillow and trimesh for unsupported features.

For such features, these libraries have neither error classes nor error codes.
"""
_TEXT_TYPES = ("text/", "model/mtl")
"""MIME types, or their beginnings, of files that are read only as text."""
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that do not occur in text of any encoding."""
_PANIC = "PanicException"
"""The name of the exception that libraries in Rust raise. No package exports its class.

The class is not a subclass of Exception, and would end the decoding process if it were
not caught.
"""
_ADDRESS = re.compile(r"(?:\bimage )?(?:\bfile )?<[^<>]* at 0x[0-9a-fA-F]+>")


def whole_bytes(media: Media, limits: DecodeLimits) -> bytes:
    """Returns all bytes of a medium.

    Raises CorruptMediaError if there are no bytes, or fewer than the container
    declares.
    """
    within(media, "max_bytes", limits.max_bytes, media.size, "bytes")
    data = media.read()
    if not data:
        raise CorruptMediaError(f"{media.label}: the file is empty (0 bytes)")
    missing = missing_bytes(data, media.mime)
    if missing:
        raise CorruptMediaError(
            f"{media.label}: it is cut short, and {missing} bytes are missing at its "
            "end"
        )
    return data


def not_read(
    media: Media,
    kinds: Iterable[MediaKind],
    expected: str,
) -> ContentError:
    """Returns the error for a medium of a type that a decoder does not read.

    ``kinds`` are the kinds that the decoder reads.

    The medium is unsupported if it has a known format of these kinds, or is text in
    another encoding. It is corrupt, which makes the answer wrong, if its format is
    unknown or of another kind, if it is plain text, or if it is a truncated archive.
    ``expected`` completes the message.
    """
    message = f"{media.label}: it is {media.mime}, {expected}"
    if media.kind not in kinds or media.mime.startswith(_TEXT_TYPES):
        return CorruptMediaError(message)
    data = media.read()
    if media.mime == UNKNOWN_MIME:
        if _CONTROL.search(data, 0, SNIFF_BYTES):
            return CorruptMediaError(message)
        return UnsupportedMediaError(
            f"{media.label}: it is text, but its encoding is not UTF-8 or UTF-16"
        )
    if media.mime == ZIP and not has_directory(io.BytesIO(data)):
        return CorruptMediaError(f"{media.label}: it is a zip without a directory")
    if media.mime == OLD_OFFICE and not has_old_directory(data):
        return CorruptMediaError(
            f"{media.label}: its directory is cut off or damaged ({media.mime})"
        )
    return UnsupportedMediaError(message)


@contextlib.contextmanager
def decoding(media: Media, form: str) -> Iterator[None]:
    """Converts exceptions of decoders into errors that name the medium.

    NotImplementedError, and exceptions that libraries raise instead of it, become
    UnsupportedMediaError.
    """
    try:
        yield
    except MmevalError:
        raise
    except MemoryError:
        raise MediaLimitError(
            f"{media.label}: decoding it as {form} needs more memory than is available"
        ) from None
    except BaseException as error:  # Decoders may raise anything for hostile bytes.
        kind = type(error).__name__
        if kind != _PANIC and not isinstance(error, Exception):
            raise
        # Memory addresses are removed, so that the same file has the same reason.
        message = _ADDRESS.sub("the file", str(error))
        first_line = message.strip().partition("\n")[0]
        reason = first_line[:300] or kind
        message_text = f"{media.label}: it cannot be decoded as {form} ({reason})"
        is_unsupported = (
            isinstance(error, NotImplementedError) or kind in _UNSUPPORTED_CLASSES
        )
        if is_unsupported or _UNSUPPORTED_WORDS.search(str(error)):
            raise UnsupportedMediaError(message_text) from error
        raise CorruptMediaError(message_text) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silences warnings and Pillow's log. Do not hold it across a ``yield``."""
    log = logging.getLogger("PIL")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
