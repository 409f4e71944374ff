from __future__ import annotations

import numpy as np
import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support import tiny_media as tiny


@pytest.mark.parametrize(
    ("form", "subtype"),
    [("WAV", None), ("FLAC", None), ("MP3", None), ("OGG", "VORBIS"), ("OGG", "OPUS"), ("AIFF", None)],
)
def test_sound_of_every_common_format_is_decoded(form: str, subtype: str | None) -> None:
    sound = decode.audio(Media.from_bytes(tiny.sound(form, subtype)))
    assert (str(sound.samples.dtype), sound.samples.shape, sound.rate) == ("float32", (9600, 1), 48000)


def test_channels_and_values_are_kept() -> None:
    sound = decode.audio(Media.from_bytes(tiny.wav(800, channels=2)))
    assert sound.samples.shape == (800, 2)
    assert sound.seconds == 0.1
    assert np.all(sound.samples == 0.5)


def test_loud_float_samples_are_clipped() -> None:
    assert decode.audio(Media.from_bytes(tiny.sound("WAV", "FLOAT", value=3.0))).samples.max() == 1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_samples_that_are_no_numbers_are_corrupt(value: float) -> None:
    with pytest.raises(CorruptMediaError, match="not numbers"):
        decode.audio(Media.from_bytes(tiny.sound("WAV", "FLOAT", value=value)))


def test_sound_without_samples_is_corrupt() -> None:
    with pytest.raises(CorruptMediaError, match="no samples"):
        decode.audio(Media.from_bytes(tiny.wav(0)))


def test_the_sound_track_of_a_video_is_decoded() -> None:
    sound = decode.audio(Media.from_bytes(tiny.clip(with_sound=True)))
    assert (sound.rate, sound.samples.shape[1]) == (16000, 2)


def test_a_video_without_sound_has_no_audio() -> None:
    with pytest.raises(CorruptMediaError, match="no sound track"):
        decode.audio(Media.from_bytes(tiny.clip()))


def test_sound_that_declares_hours_is_refused_from_its_header() -> None:
    flac = bytearray(tiny.sound("FLAC"))
    flac[21] |= 0x0F
    flac[22:26] = b"\xff\xff\xff\xff"
    with pytest.raises(MediaLimitError, match="max_audio_seconds = 3600"):
        decode.audio(Media.from_bytes(bytes(flac)))


def test_a_stream_of_undeclared_length_is_read_to_its_end() -> None:
    flac = bytearray(tiny.sound("FLAC"))
    flac[21] &= 0xF0
    flac[22:26] = bytes(4)
    assert len(decode.audio(Media.from_bytes(bytes(flac))).samples) == 9600


def test_a_streamed_wav_with_open_sizes_is_read_to_its_end() -> None:
    streamed = bytearray(tiny.wav())
    streamed[4:8] = streamed[40:44] = b"\xff\xff\xff\xff"
    assert len(decode.audio(Media.from_bytes(bytes(streamed))).samples) == 800


@pytest.mark.parametrize(
    "limits", [DecodeLimits(max_audio_seconds=0.09), DecodeLimits(max_audio_samples=799), DecodeLimits(max_bytes=100)]
)
def test_sound_above_a_limit_is_refused(limits: DecodeLimits) -> None:
    with pytest.raises(MediaLimitError, match="above the limit max_"):
        decode.audio(Media.from_bytes(tiny.wav(800)), limits=limits)


def test_samples_cannot_be_changed() -> None:
    samples = decode.audio(Media.from_bytes(tiny.wav())).samples
    with pytest.raises(ValueError, match="read-only"):
        samples[0] = 0.0
