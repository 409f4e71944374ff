"""Guards decoders: whole bytes, typed errors, and no warnings of libraries.

A medium that cannot be read is *damaged* (CorruptMediaError), which is the fault of
whoever made it, or *unsupported* here (UnsupportedMediaError), which is not.
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
"""Errors of PyAV, by name: the package is optional."""
_UNSUPPORTED_WORDS = re.compile(
    r"\b(?:unsupported|not (?:yet )?(?:supported|implemented|available)|"
    r"unknown (?:pixel mode|raw mode|compression|data organization)|cannot handle)\b",
    re.IGNORECASE,
)
"""How Pillow and trimesh say that they do not read something: they have neither classes
nor codes for it."""
_WORDS = ("text/", "model/mtl")
"""Types that are read as words alone."""
_CONTROL = re.compile(rb"[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
"""Bytes that no text has, whatever its encoding."""
_PANIC = "PanicException"
"""Of libraries in Rust, by name: no package exports it. It is not an Exception, and
would end the process of the decoder."""
_ADDRESS = re.compile(r"(?:\bimage )?(?:\bfile )?<[^<>]* at 0x[0-9a-fA-F]+>")


def whole_bytes(media: Media, limits: DecodeLimits) -> bytes:
    """All bytes of a medium; CorruptMediaError for none, or fewer than it declares."""
    within(media, "max_bytes", limits.max_bytes, media.size, "bytes")
    data = media.read()
    if not data:
        raise CorruptMediaError(f"{media.label}: it is empty (0 bytes)")
    missing = missing_bytes(data, media.mime)
    if missing:
        raise CorruptMediaError(
            f"{media.label}: it is cut short, {missing} bytes are missing at its end"
        )
    return data


def not_read(
    media: Media,
    kinds: Iterable[MediaKind],
    what: str,
) -> ContentError:
    """The error for a medium of a type that the decoder of some kinds does not take.

    It is unsupported if its first bytes are those of a known format of these kinds, or
    a document of words in another encoding. What is of no known format, of another kind
    or mere text is the wrong answer, and so is an archive that is cut short. ``what``
    is what it should have been.
    """
    words = f"{media.label}: it is {media.mime}, {what}"
    if media.kind not in kinds or media.mime.startswith(_WORDS):
        return CorruptMediaError(words)
    data = media.read()
    if media.mime == UNKNOWN_MIME:
        if _CONTROL.search(data, 0, SNIFF_BYTES):
            return CorruptMediaError(words)
        return UnsupportedMediaError(
            f"{media.label}: it is text in another encoding than UTF-8 or UTF-16"
        )
    if media.mime == ZIP and not has_directory(io.BytesIO(data)):
        return CorruptMediaError(f"{media.label}: it is a zip without a directory")
    if media.mime == OLD_OFFICE and not has_old_directory(data):
        return CorruptMediaError(
            f"{media.label}: its directory is cut off or damaged ({media.mime})"
        )
    return UnsupportedMediaError(words)


@contextlib.contextmanager
def decoding(media: Media, what: str) -> Iterator[None]:
    """Turn what a decoder of hostile bytes raises into an error that names the
    medium. NotImplementedError, and what libraries raise instead of it, becomes
    UnsupportedMediaError."""
    try:
        yield
    except MmevalError:
        raise
    except MemoryError:
        raise MediaLimitError(
            f"{media.label}: decoding it as {what} needs more memory than there is"
        ) from None
    except BaseException as error:  # decoders of hostile bytes raise what they like
        kind = type(error).__name__
        if kind != _PANIC and not isinstance(error, Exception):
            raise
        # without memory addresses: same file, same reason
        message = _ADDRESS.sub("the file", str(error))
        first_line = message.strip().partition("\n")[0]
        reason = first_line[:300] or kind
        words = f"{media.label}: it cannot be decoded as {what} ({reason})"
        is_class = (
            isinstance(error, NotImplementedError) or kind in _UNSUPPORTED_CLASSES
        )
        if is_class or _UNSUPPORTED_WORDS.search(str(error)):
            raise UnsupportedMediaError(words) from error
        raise CorruptMediaError(words) from error


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence warnings, and the log lines of Pillow; never held across a ``yield``."""
    log = logging.getLogger("PIL")
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
