"""Guards decoders: whole bytes, typed errors, and no warnings of libraries."""

from __future__ import annotations

import contextlib
import logging
import re
import warnings
from collections.abc import Iterator

from mmeval.content.media import Media, MediaKind
from mmeval.decode.container_header import missing_bytes
from mmeval.decode.limits import DecodeLimits, within
from mmeval.errors import (
    ContentError,
    CorruptMediaError,
    MediaLimitError,
    MmevalError,
    UnsupportedMediaError,
)

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


def without_decoder(media: Media, kind: MediaKind, what: str) -> ContentError:
    """The error for a medium whose type has no decoder as ``what``.

    A medium of that ``kind`` is in a format that mmeval does not read; any other is the
    fault of whoever gave it.
    """
    if media.kind == kind:
        return UnsupportedMediaError(
            f"{media.label}: it is {media.mime}, {what} that mmeval does not read; "
            "store it in another format"
        )
    return CorruptMediaError(
        f"{media.label}: it is {media.mime}, which is not decoded as {what}"
    )


@contextlib.contextmanager
def decoding(media: Media, what: str) -> Iterator[None]:
    """Turn what a decoder of hostile bytes raises into an error that names the
    medium."""
    try:
        yield
    except MmevalError:
        raise
    except MemoryError:
        raise MediaLimitError(
            f"{media.label}: decoding it as {what} needs more memory than there is"
        ) from None
    except Exception as error:  # decoders of hostile bytes raise what they like
        raise CorruptMediaError(
            f"{media.label}: it cannot be decoded as {what} ({_reason(error)})"
        ) from error


def _reason(error: Exception) -> str:
    """A message's first line without memory addresses: same file, same reason."""
    words = _ADDRESS.sub("the file", str(error)).strip().partition("\n")[0]
    return words[:300] or type(error).__name__


@contextlib.contextmanager
def quiet(logger: str = "PIL") -> Iterator[None]:
    """Silence a library's warnings and log lines; never held across a ``yield``."""
    log = logging.getLogger(logger)
    before = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)
