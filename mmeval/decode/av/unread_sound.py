"""Tells a sound that libsndfile does not read from a damaged one.

Its errors do not: an unknown codec of a WAV is called malformed, and a FLAC that is cut
short unimplemented. So the header is read here.
"""

from __future__ import annotations

import re
from typing import Literal

_FMT = re.compile(rb"fmt .{4}(..).{12}(..)", re.DOTALL)
"""The number of the codec, and the bits of a sample."""
_HEAD_BYTES = 4096
_FLOAT = 0x0003
_WAV_CODECS = frozenset(
    (0x0001, 0x0002, 0x0006, 0x0007, 0x0011, 0x0031, 0x0038, 0x0040, 0x0055, 0xFFFE)
)
"""Numbers of the codecs in WAV that libsndfile reads besides floats: integers,
Microsoft's ADPCM, A-law, mu-law, IMA's ADPCM, GSM, NMS, G.721, MP3, and the one that
names the codec elsewhere."""
_FLOAT_DEPTHS = (32, 64)
_FLAC_DEPTHS = (8, 16, 24)
_STREAM_INFO = b"\0\0\0\x22"
_OGG_CODECS = (b"Speex   ", b"CELT    ", b"PCM     ", b"\x80theora", b"fishead\0")
_OGG_CODEC_PLACE = 28
_UNIMPLEMENTED = (4, 18, 78)
"""Codes of libsndfile: an encoding that is unsupported or not implemented, WavPack."""
_REFUSED_HEADER = (29, 64)
"""An unspecified error, and a malformed header: so a WAV of an unknown codec ends."""


def is_unread(data: bytes, mime: str, code: int) -> bool:
    """Whether libsndfile refused a sound with an error's ``code`` for its codec or the
    depth of its samples."""
    if mime == "audio/flac":
        return _flac_depth(data) not in _FLAC_DEPTHS
    if mime == "audio/ogg":
        return data.startswith(_OGG_CODECS, _OGG_CODEC_PLACE)
    if mime == "audio/wav" and code in _REFUSED_HEADER:
        return _is_foreign_wav(data)
    return code in _UNIMPLEMENTED


def _flac_depth(data: bytes) -> int:
    """Bits of a sample by the block that has to come first; 8 where it is cut off."""
    if data[4:8] != _STREAM_INFO or len(data) < 22:
        return 8
    return (int.from_bytes(data[20:22], "big") >> 4 & 31) + 1


def _is_foreign_wav(data: bytes) -> bool:
    order: Literal["big", "little"] = "big" if data.startswith(b"RIFX") else "little"
    found = _FMT.search(data, 12, _HEAD_BYTES)
    if found is None:
        return False
    codec = int.from_bytes(found[1], order)
    bits = int.from_bytes(found[2], order)
    if codec == _FLOAT:
        return bits not in _FLOAT_DEPTHS
    return codec not in _WAV_CODECS
