"""Distinguishes a sound that libsndfile does not support from a damaged one.

The errors of libsndfile do not distinguish these cases. libsndfile reports a WAV with
an unknown codec as malformed, and a truncated FLAC as unimplemented. Therefore this
module reads the header itself.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mmeval.media.decode.container_header import wave_format

_WAV_BITS: Mapping[int, Collection[int]] = {1: range(1, 33), 3: (32, 64)}
"""The bits per sample that libsndfile supports, for integers (code 1) and floats (code
3)."""
_WAV_CODECS = (0x02, 0x06, 0x07, 0x11, 0x31, 0x38, 0x40, 0x55)
"""Other codecs of WAV that libsndfile reads.

These codecs are Microsoft ADPCM, A-law, mu-law, IMA ADPCM, GSM, NMS, G.721 and MP3.
"""
_FLAC_DEPTHS = (8, 16, 24)
_STREAM_INFO = b"\0\0\0\x22"
_OGG_CODECS = (b"Speex   ", b"CELT    ", b"PCM     ", b"\x80theora", b"fishead\0")
_OGG_CODEC_PLACE = 28
_UNIMPLEMENTED = (4, 18, 78)
"""The error codes of libsndfile for unsupported or unimplemented encodings, and for
WavPack."""
_REFUSED_HEADER = (29, 64)
"""The error codes for an unspecified error and a malformed header.

For a WAV with an unknown codec, libsndfile returns one of these codes.
"""


def is_unread(
    data: bytes,
    mime: str,
    code: int,
) -> bool:
    """Returns True if libsndfile does not support the codec or the sample depth.

    ``code`` is the code of libsndfile's error.
    """
    if mime == "audio/flac":
        if data[4:8] != _STREAM_INFO or len(data) < 22:
            return False  # The first block is truncated.
        depth = (int.from_bytes(data[20:22], "big") >> 4 & 31) + 1
        return depth not in _FLAC_DEPTHS
    if mime == "audio/ogg":
        return data.startswith(_OGG_CODECS, _OGG_CODEC_PLACE)
    if mime == "audio/wav":
        codec, bits = wave_format(data)
        if codec == 0:
            return False  # The header is truncated.
        if code in _REFUSED_HEADER:
            return codec not in _WAV_CODECS and bits not in _WAV_BITS.get(codec, ())
    return code in _UNIMPLEMENTED
