"""Hostile sounds."""

from __future__ import annotations

import struct

from tests.support import tiny_media as tiny
from tests.support.hostile.case import Hostile, Makers, named


def cases() -> tuple[Hostile, ...]:
    makers: Makers = {
        "wav that says four gigabytes": lambda: _wav_size(0xFFFFFF00),
        "wav of four billion Hz": lambda: _wav(rate=0xFFFFFFFF),
        "wav of 65535 channels": lambda: _wav(channels=65535),
        "wav of no known coding": lambda: _wav(coding=0x4242),
        "wav of numbers that are none": lambda: _wav(coding=3, bits=32, data=struct.pack("<f", float("nan")) * 900),
        "wav with a million chunks": lambda: _riff(b"fmt " + _format() + b"junk\0\0\0\0" * 1_000_000),
        "wav whose chunks go backwards": lambda: _riff(b"junk" + struct.pack("<i", -8) + bytes(64)),
        "wav of a whole hour in silence": lambda: _wav(rate=8000, data=bytes(8000 * 3700 * 2)),
        "rf64 that lies": lambda: b"RF64\xff\xff\xff\xffWAVEds64" + struct.pack("<IQQQI", 28, 2**60, 2**60, 2**60, 0),
        "flac of 2^36 frames": lambda: _flac(frames=2**36 - 1),
        "flac of endless notes": lambda: b"fLaC" + b"\x04\0\0\0" * 1_000_000,
        "flac whose picture is 16 MB": lambda: b"fLaC\x06\xff\xff\xff" + bytes(64),
        "flac of fifty minutes of silence": _flac_silence,
        "ogg of a thousand sounds in a row": lambda: tiny.sound("OGG", "VORBIS", frames=200) * 1000,
        "ogg of fifty thousand streams at once": _ogg_streams,
        "wav, extensible, of 65528 bits": lambda: _extensible(bits=65528),
        "ogg with a last page of 2^62": lambda: _ogg_last(2**62),
        "ogg of empty pages": lambda: tiny.sound("OGG", "VORBIS")[:58] + (b"OggS" + bytes(23)) * 100_000,
        "ogg of 255 channels": lambda: _vorbis(channels=255, rate=48000),
        "mp3 that counts four billion frames": lambda: _mp3_counts(b"\xff\xff\xff\xff"),
        "mp3 with notes of 256 MB": lambda: b"ID3\x04\0\0\x7f\x7f\x7f\x7f" + bytes(100),
        "mp3 of nothing but starts": lambda: b"\xff\xfb\x90\x00" * 500_000,
        "mp3 of noise": lambda: b"\xff\xfb\x90\x64" + bytes((i * i * 7919) >> 3 & 255 for i in range(200_000)),
        "aiff of a rate of no number": lambda: _aiff(rate=b"\x7f\xff" + b"\xff" * 8),
        "aac of nothing but starts": lambda: b"\xff\xf1\x50\x80\x00\x1f\xfc" * 300_000,
    }
    return named("sound", ("audio",), makers)


def _format(*, coding: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16) -> bytes:
    block = max(1, channels * bits // 8) & 0xFFFF
    body = struct.pack("<HHIIHH", coding, channels, rate, rate * block & 0xFFFFFFFF, block, bits)
    return struct.pack("<I", len(body)) + body


def _riff(chunks: bytes) -> bytes:
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks


def _wav(
    *, coding: int = 1, channels: int = 1, rate: int = 8000, bits: int = 16, data: bytes = bytes(1 << 18)
) -> bytes:
    head = b"fmt " + _format(coding=coding, channels=channels, rate=rate, bits=bits)
    return _riff(head + b"data" + struct.pack("<I", len(data)) + data)


def _wav_size(size: int) -> bytes:
    data = tiny.wav()
    at = data.index(b"data") + 4
    return data[:at] + struct.pack("<I", size) + data[at + 4 :]


def _flac(*, frames: int = 9600, rate: int = 48000) -> bytes:
    data = tiny.sound("FLAC")
    packed = rate << 44 | 0 << 41 | 15 << 36 | frames
    return data[:18] + packed.to_bytes(8) + data[26:]


def _flac_silence() -> bytes:
    """Two hundred million samples in 370 kilobytes."""
    import io

    import numpy as np
    import soundfile

    out = io.BytesIO()
    with soundfile.SoundFile(out, "w", 32_000, 2, format="FLAC") as file:
        for _ in range(300):
            file.write(np.zeros((320_000, 2), "int16"))
    return out.getvalue()


def _ogg_streams() -> bytes:
    head = b"\x01vorbis" + struct.pack("<IBIIIIBB", 0, 1, 8000, 0, 0, 0, 0xB8, 1)
    pages = (struct.pack("<III", serial, 0, 0) for serial in range(50_000))
    return b"".join(b"OggS\0\x02" + bytes(8) + page + bytes((1, len(head))) + head for page in pages)


def _extensible(
    *,
    bits: int = 16,
    valid: int = 16,
    channels: int = 2,
    coding: bytes = b"\1\0\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71",
) -> bytes:
    block = channels * bits // 8
    body = struct.pack("<HHIIHHHHI", 0xFFFE, channels, 8000, 8000 * block, block, bits, 22, valid, 0xFFFFFFFF) + coding
    return _riff(b"fmt " + struct.pack("<I", len(body)) + body + b"data" + struct.pack("<I", 9600) + bytes(9600))


def _ogg_last(granule: int) -> bytes:
    data = tiny.sound("OGG", "VORBIS")
    at = data.rfind(b"OggS") + 6
    return data[:at] + struct.pack("<Q", granule) + data[at + 8 :]


def _vorbis(*, channels: int, rate: int) -> bytes:
    data = tiny.sound("OGG", "VORBIS")
    at = data.index(b"\x01vorbis") + 11
    return data[:at] + struct.pack("<BI", channels, rate) + data[at + 5 :]


def _mp3_counts(count: bytes) -> bytes:
    data = tiny.sound("MP3")
    at = max(data.find(b"Xing"), data.find(b"Info"))
    return data[: at + 8] + count * 2 + data[at + 16 :]


def _aiff(*, channels: int = 1, rate: bytes = b"\x40\x0e\xac\x44\0\0\0\0\0\0") -> bytes:
    common = struct.pack(">HIH", channels, 0xFFFFFFF, 16) + rate
    chunks = b"COMM" + struct.pack(">I", 18) + common + b"SSND" + struct.pack(">I", 1008) + bytes(1008)
    return b"FORM" + struct.pack(">I", 4 + len(chunks)) + b"AIFF" + chunks
