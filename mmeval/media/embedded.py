"""Reads media that data contain directly: base64, data URIs and number arrays."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_to_bytes

from mmeval.errors import UsageError
from mmeval.media.encode import wav
from mmeval.media.media import MAX_MEDIA_BYTES, Media, kind_for
from mmeval.media.media_type import UNKNOWN_MIME, sniff_mime

DATA_URI = re.compile(
    r"data:(?P<mime>[\w.+-]+(?:/[\w.+-]*)?)?(?P<parameters>(?:;[\w.+=\"-]+)*),",
    re.IGNORECASE,
)
"""The start of a data URI, up to its comma."""
_URI_IN_TEXT = re.compile(
    r"data:(?P<mime>(?:image|audio|video|model|application)/[\w.+-]+)"
    r"(?:;[\w.+=\"-]+)*;base64,",
    re.IGNORECASE,
)
_LEAST_CHARS = 64
"""The minimum number of characters of base64 that is treated as a medium."""
_HEAD_CHARS = 512
"""The number of characters of base64 that are decoded to recognise a medium."""
_RUN = re.compile(rf"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{{{_LEAST_CHARS},}}")
_OTHER_LETTERS = str.maketrans("-_", "+/")
_FULL_SCALE = 2**15
"""The 16-bit integer that represents a sample of 1."""
SOUND_KEYS = frozenset(("array", "sampling_rate"))
"""The keys of a sound that the library ``datasets`` has decoded. It may also have the
key ``path``."""


def embedded_medium(text: str) -> Media | None:
    """Returns the medium in a string that is a data URI or base64, or None.

    Base64 is treated as a medium if the decoded bytes have the signature of a picture,
    sound, video, mesh or document. Raises UsageError for damaged base64, and for a
    medium larger than ``MAX_MEDIA_BYTES``.
    """
    uri = DATA_URI.match(text)
    if uri is None and not mime_of_base64(text.lstrip()[:_HEAD_CHARS]):
        return None
    # Base64 has 4 characters for 3 bytes.
    if len(text) > MAX_MEDIA_BYTES * 4 // 3:
        raise UsageError(
            f"a medium in the data is larger than {MAX_MEDIA_BYTES >> 20} MiB"
        )
    payload = text[uri.end() :] if uri else text
    if uri and not uri[0].lower().endswith(";base64,"):
        return Media.from_bytes(unquote_to_bytes(payload))
    try:
        return Media.from_bytes(base64_bytes(payload))
    except ValueError:
        raise UsageError(
            "a medium in the data is damaged: its base64 cannot be decoded"
        ) from None


def medium_inside(text: str) -> str:
    """Returns the kind of the first base64 medium or data URI in a text.

    The string is empty if there is none.
    """
    if len(text) < _LEAST_CHARS:
        return ""
    uri = _URI_IN_TEXT.search(text)
    if uri is not None:
        return kind_for(uri["mime"].lower())
    for run in _RUN.finditer(text):
        mime = mime_of_base64(run[0][:_HEAD_CHARS])
        if mime:
            return kind_for(mime)
    return ""


def is_sound(value: Any) -> bool:
    """Returns True for a sound that is given as an array of numbers.

    The form of such a sound is ``{"array": ..., "sampling_rate": ...}``.
    """
    if not isinstance(value, Mapping):
        return False
    return SOUND_KEYS <= value.keys() <= SOUND_KEYS | {"path", "bytes"}


def sound_medium(value: Mapping[str, Any]) -> Media:
    """Converts a sound that is given as an array of numbers to 16-bit WAV.

    ``array`` contains samples from -1 to 1, or 16-bit integers. If it has two
    dimensions, the shorter one is the channels. A plain list that contains only -1, 0
    and 1 is read as samples from -1 to 1. Raises UsageError for anything else, and for
    integers of more than 16 bits.
    """
    import numpy

    rate = value["sampling_rate"]
    try:
        samples = numpy.asarray(value["array"])
        if isinstance(rate, bool) or rate != int(rate):
            raise ValueError(f"sampling_rate is {rate!r}")
        if samples.dtype.kind not in "fiu":
            raise ValueError("array has items that are not numbers")
        if samples.dtype.kind in "iu" and samples.size:
            # abs(samples) would fail: the lowest integer of a type has no positive
            # counterpart.
            largest = max(int(samples.max()), -int(samples.min()))
            if largest > _FULL_SCALE:
                raise ValueError("array has whole numbers of more than 16 bits")
            if largest > 1 or samples.dtype == numpy.int16:
                samples = samples / _FULL_SCALE
        if samples.ndim == 2 and samples.shape[0] < samples.shape[1]:
            samples = samples.T
        return wav(samples, int(rate))
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(
            f"is not a sound of numbers ({error}); write samples from -1 to 1 under "
            "array, and samples per second under sampling_rate"
        ) from None


def mime_of_base64(head: str) -> str:
    """Returns the MIME type of a base64 medium, from the start of its base64.

    The string is empty for other texts.
    """
    letters = "".join(head.split()).translate(_OTHER_LETTERS).rstrip("=")
    if len(letters) < _LEAST_CHARS // 2:
        return ""
    try:
        data = base64.b64decode(letters[: len(letters) // 4 * 4], validate=True)
    except binascii.Error:
        return ""
    mime = sniff_mime(data)
    is_text = mime.startswith("text/") or mime in (UNKNOWN_MIME, "model/obj")
    return "" if is_text else mime


def base64_bytes(payload: str) -> bytes:
    """Decodes base64, which may contain white space, lack padding, or be URL-safe.

    Raises ValueError if it is not base64.
    """
    letters = "".join(payload.split()).translate(_OTHER_LETTERS).rstrip("=")
    return base64.b64decode(letters + "=" * (-len(letters) % 4), validate=True)
