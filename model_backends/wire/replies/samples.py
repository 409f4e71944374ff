"""Converts sounds that arrive as raw samples or in several chunks to one WAV."""

from __future__ import annotations

import base64
import io
import re
import wave
from collections.abc import Sequence

from mmeval.errors import ContentError, MissingError
from mmeval.media import Media, base64_bytes, wav

ASSUMED_RATE = 24_000
"""Sampling rate in Hz if the reply states none. All providers use this rate."""
SAMPLES_TYPE = "audio/pcm"
_SAMPLE_BYTES = 2
_RIFF = "UklGR"
"""The first characters of a WAV in base64."""
_RATE = re.compile(r"\brate\s*=\s*\"?(\d{3,7})", re.IGNORECASE)
_SAMPLES_TYPE = re.compile(r"audio/(?:pcm|l16|x-pcm|x-l16|raw)\b", re.IGNORECASE)
_PADDED = re.compile(r"[^=]+=*")


def rate_of(mime: str) -> int:
    """Returns the sampling rate in a MIME type, or 0 if it is missing.

    An example of such a type is ``audio/L16;codec=pcm;rate=24000``.
    """
    match = _RATE.search(mime)
    return int(match[1]) if match else 0


def is_samples_type(mime: str) -> bool:
    """Returns True if a MIME type means raw samples without a header."""
    return _SAMPLES_TYPE.match(mime) is not None


def wav_of_samples(
    samples: bytes,
    rate: int,
    channels: int = 1,
) -> bytes:
    """Converts 16-bit little-endian samples to a WAV.

    An incomplete last sample is dropped.
    """
    whole = len(samples) - len(samples) % (_SAMPLE_BYTES * channels)
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(_SAMPLE_BYTES)
        out.setframerate(rate)
        out.writeframes(samples[:whole])
    return file.getvalue()


def joined_base64(pieces: Sequence[str]) -> bytes:
    """Decodes base64 that was split into chunks at arbitrary positions.

    If there is padding in the middle, another base64 text begins after it. Decoding
    stops at damaged base64.
    """
    data = bytearray()
    whole_text = "".join("".join(pieces).split())
    for text in _PADDED.findall(whole_text):
        letters = text.rstrip("=")
        whole = len(letters) - (len(letters) % 4 == 1)
        try:
            data += base64_bytes(letters[:whole])
        except ValueError:
            break
    return bytes(data)


def whole_sounds(pieces: Sequence[str]) -> list[str]:
    """Returns the sounds in the base64 chunks of a stream, as base64.

    The result is one sound, unless the chunks are files that cannot be joined.
    """
    if len(pieces) == 1:
        return list(pieces)  # returned unchanged, because base64 has several variants
    beginnings = sum(piece.startswith(_RIFF) for piece in pieces)
    if beginnings < 2:
        return [base64_text(joined_base64(pieces))]
    files = [joined_base64([piece]) for piece in pieces]
    joined = joined_files(files)
    if joined is not None:
        files = [joined]
    return [base64_text(data) for data in files]


def joined_files(files: Sequence[bytes]) -> bytes | None:
    """Joins the files of one sound to one WAV.

    Returns None if their rates or channels differ, or if a file cannot be decoded.
    """
    joined = _joined_waves(files)
    if joined is not None:
        return joined
    # imported late, since a run of text decodes no media
    from mmeval.media.decode import audio

    try:
        sounds = [audio(Media.from_bytes(data)) for data in files]
    except (ContentError, MissingError):
        return None
    shapes = {(sound.rate, sound.samples.shape[1]) for sound in sounds}
    if len(shapes) != 1:
        return None
    import numpy

    samples = numpy.concatenate([sound.samples for sound in sounds])
    return wav(samples, sounds[0].rate).read()


def base64_text(data: bytes) -> str:
    """Encodes bytes as base64, as in a reply."""
    return base64.b64encode(data).decode("ascii")


def _joined_waves(files: Sequence[bytes]) -> bytes | None:
    """Joins WAVs with integer samples of the same format, without decoding them.

    Returns None for other files.
    """
    from mmeval.media.decode import whole_wave

    formats: set[tuple[int, int, int]] = set()
    frames: list[bytes] = []
    for data in files:
        try:
            with wave.open(io.BytesIO(whole_wave(data))) as sound:
                channels, width, rate = sound.getparams()[:3]
                frames.append(sound.readframes(sound.getnframes()))
        except (wave.Error, EOFError):
            return None
        formats.add((channels, width, rate))
    if len(formats) != 1:
        return None
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(b"".join(frames))
    return out.getvalue()
