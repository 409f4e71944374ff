import math
import struct
from typing import Any

import numpy as np
import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError, UnsupportedMediaError
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits, sound_start
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

NO_SOUND = (tiny.wav(0), tiny.clip())


def test_sound_of_every_common_format_is_decoded_with_its_channels_and_values() -> None:
    formats = (
        ("WAV", None),
        ("FLAC", None),
        ("MP3", None),
        ("OGG", "VORBIS"),
        ("OGG", "OPUS"),
        ("AIFF", None),
    )
    for form, subtype in formats:
        sound = decode.audio(Media.from_bytes(tiny.sound(form, subtype)))
        assert (str(sound.samples.dtype), sound.samples.shape, sound.rate) == (
            "float32",
            (9600, 1),
            48000,
        )
    sound = decode.audio(Media.from_bytes(tiny.wav(800, channels=2)))
    assert (sound.samples.shape, sound.seconds) == ((800, 2), 0.1)
    assert np.all(sound.samples == 0.5)
    assert not sound.samples.flags.writeable
    for value, decoded in ((3.0, 3.0), (-32768.0, -32768.0), (1e30, 1e9)):
        loud = Media.from_bytes(tiny.sound("WAV", "FLOAT", value=value))
        assert set(decode.audio(loud).samples.flat) == {decoded}
        # other formats may have 16 bits
        assert set(sound_start(loud, 0.1).samples) == {math.copysign(1, value)}
    track = decode.audio(Media.from_bytes(tiny.clip(with_sound=True)))
    assert (track.rate, track.samples.shape[1]) == (16000, 2)


@pytest.mark.parametrize("depth", ["PCM_24", "PCM_32", "FLOAT", "DOUBLE"])
@pytest.mark.parametrize("form", ["WAV", "WAVEX", "W64", "RF64"])
def test_sounds_of_24_to_64_bits_a_sample_are_read(form: str, depth: str) -> None:
    media = Media.from_bytes(tiny.sound(form, depth))
    assert media.kind == "audio"
    assert decode.audio(media).samples == pytest.approx(np.full((9600, 1), 0.5))


def wave(bits: int, samples: bytes) -> Media:
    """A 16 kHz WAV of integers in one channel."""
    size = bits // 8
    head = struct.pack("<HHIIHH", 1, 1, 16000, 16000 * size, size, bits)
    chunks = [
        b"fmt " + struct.pack("<I", len(head)) + head,
        b"data" + struct.pack("<I", len(samples)) + samples,
    ]
    body = b"WAVE" + b"".join(chunks)
    return Media.from_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)


def test_whole_numbers_of_64_bits_are_read() -> None:
    sound = decode.audio(wave(64, struct.pack("<2q", 2**62, -(2**62))))
    assert sound.samples.tolist() == [[0.5], [-0.5]]


def test_whole_numbers_of_48_bits_are_unsupported() -> None:
    with pytest.raises(UnsupportedMediaError):
        decode.audio(wave(48, bytes(960)))


def test_a_wav_with_a_damaged_head_is_damaged() -> None:
    with pytest.raises(CorruptMediaError):
        decode.audio(Media.from_bytes(b"RIFF\x08\0\0\0WAVEfmt " + bytes(20)))


@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT"])
@pytest.mark.parametrize("form", ["WAV", "WAVEX"])
def test_no_cut_of_a_wav_is_unsupported(form: str, subtype: str) -> None:
    wave = tiny.sound(form, subtype)
    for end in range(12, 80):
        cut = Media(data=wave[:end], mime="audio/wav", name="cut")
        with pytest.raises(CorruptMediaError):
            decode.audio(cut)


def test_samples_that_are_no_numbers_and_a_file_without_sound_are_corrupt() -> None:
    endless = [
        tiny.sound("WAV", "FLOAT", value=value)
        for value in (float("nan"), float("inf"))
    ]
    for data, words in (
        *((data, "not numbers") for data in endless),
        *((data, "samples|track") for data in NO_SOUND),
    ):
        for decoder in (decode.audio, lambda media: sound_start(media, 0.1)):
            with pytest.raises(CorruptMediaError, match=words):
                decoder(Media.from_bytes(data))


def flac(frames: int) -> Media:
    """A sound of 9600 frames that declares another number of frames."""
    data = bytearray(tiny.sound("FLAC"))
    data[21] = data[21] & 0xF0 | frames >> 32
    data[22:26] = (frames & 0xFFFFFFFF).to_bytes(4)
    return Media.from_bytes(bytes(data))


def test_the_declared_length_is_checked_and_the_start_of_a_sound_decoded_alone() -> (
    None
):
    with pytest.raises(MediaLimitError, match="max_audio_seconds = 3600"):
        decode.audio(flac(2**36 - 1))
    assert len(decode.audio(flac(0)).samples) == 9600
    streamed = bytearray(tiny.wav())
    streamed[4:8] = streamed[40:44] = b"\xff\xff\xff\xff"
    assert len(decode.audio(Media.from_bytes(bytes(streamed))).samples) == 800
    media = Media.from_bytes(tiny.wav(800, channels=2))
    start = sound_start(media, 0.1)
    half = sound_start(media, 0.05, limits=DecodeLimits(max_audio_seconds=0.05))
    assert (start.samples.shape, start.rate, start.more) == ((800,), 8000, False)
    assert (half.samples.tolist(), half.more) == ([0.5] * 400, True)


def test_sound_above_a_limit_is_refused() -> None:
    media = Media.from_bytes(tiny.wav(800, channels=2))
    limits: dict[str, tuple[Any, Any]] = {
        "max_audio_seconds": (0.1, 0.099),
        "max_audio_samples": (1600, 1599),
        "max_step_bytes": (6400, 6399),
        "max_bytes": (3244, 3243),
        "max_seconds": (120, 0),
    }
    for limit, (most, less) in limits.items():
        assert (
            len(decode.audio(media, limits=DecodeLimits(**{limit: most})).samples)
            == 800
        )
        with pytest.raises(MediaLimitError, match=f"{limit} = "):
            decode.audio(media, limits=DecodeLimits(**{limit: less}))
