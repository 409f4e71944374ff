"""Tells a sound that libsndfile does not read from a damaged one.

Its errors do not: an unknown codec of a WAV is called malformed, and a FLAC that is cut
short unimplemented. So the header is read here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mmeval.media.decode.container_header import wave_format

_WAV_BITS: Mapping[int, Collection[int]] = {1: range(1, 33), 3: (32, 64)}
"""Bits a sample that libsndfile reads, of whole numbers and of floats."""
_WAV_CODECS = (0x02, 0x06, 0x07, 0x11, 0x31, 0x38, 0x40, 0x55)
"""Other codecs in WAV that libsndfile reads: Microsoft's ADPCM, A-law, mu-law, IMA's
ADPCM, GSM, NMS, G.721, MP3."""
_FLAC_DEPTHS = (8, 16, 24)
_STREAM_INFO = b"\0\0\0\x22"
_OGG_CODECS = (b"Speex   ", b"CELT    ", b"PCM     ", b"\x80theora", b"fishead\0")
_OGG_CODEC_PLACE = 28
_UNIMPLEMENTED = (4, 18, 78)
"""Codes of libsndfile: an encoding that is unsupported or not implemented, WavPack."""
_REFUSED_HEADER = (29, 64)
"""An unspecified error, and a malformed header: so a WAV of an unknown codec ends."""


def is_unread(
    data: bytes,
    mime: str,
    code: int,
) -> bool:
    """Whether libsndfile refused a sound with an error's ``code`` for its codec or the
    depth of its samples."""
    if mime == "audio/flac":
        if data[4:8] != _STREAM_INFO or len(data) < 22:
            return False  # the block that has to come first is cut off
        depth = (int.from_bytes(data[20:22], "big") >> 4 & 31) + 1
        return depth not in _FLAC_DEPTHS
    if mime == "audio/ogg":
        return data.startswith(_OGG_CODECS, _OGG_CODEC_PLACE)
    if mime == "audio/wav":
        codec, bits = wave_format(data)
        if codec == 0:
            return False  # its header is cut off
        if code in _REFUSED_HEADER:
            return codec not in _WAV_CODECS and bits not in _WAV_BITS.get(codec, ())
    return code in _UNIMPLEMENTED
