"""Decodes sound from sound files and from the sound tracks of videos."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Generator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from mmeval.errors import CorruptMediaError
from mmeval.media.decode.av.container import AV_FORMATS, decoded, opened, require_codec
from mmeval.media.decode.av.unread_sound import is_unread
from mmeval.media.decode.container_header import wave_format, whole_wave
from mmeval.media.decode.guard import decoding, not_read, quiet, whole_bytes
from mmeval.media.decode.limits import DEFAULT_LIMITS, Clock, DecodeLimits, within
from mmeval.media.decode.memo import decoded_once
from mmeval.media.media import Media
from mmeval.system.extras import need

if TYPE_CHECKING:
    import numpy as np

_SOUND_FILE_MIMES = frozenset(
    (
        "audio/wav",
        "audio/x-w64",
        "audio/flac",
        "audio/ogg",
        "audio/mpeg",
        "audio/aiff",
    )
)
_WAVE = "audio/wav"
_WHOLE_NUMBERS_OF_64_BITS = (1, 64)
"""Format code and bits per sample of the WAV that PyAV reads but libsndfile does
not."""
_UNKNOWN_LENGTH = 1 << 62
"""The number of frames that libsndfile reports for a FLAC stream of unknown length.

libsndfile cannot read such a stream to its end.
"""
_AUDIO_BLOCK = 1 << 20
_SAMPLE_BYTES = 4
LOUDEST = 1e9
"""The largest absolute value of a sample that is kept.

This value is larger than all 24-bit integers that are stored as floats, and small
enough that sums of squares fit into float32.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Audio:
    """A sound whose samples have a full scale of 1.

    ``samples`` are float32 (n, channels) and read-only. ``rate`` is in Hz.
    """

    samples: np.ndarray[Any, np.dtype[np.float32]]
    rate: int

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate


def _kept_size(sound: Audio) -> int:
    return sound.samples.nbytes


@decoded_once(size=_kept_size)
def audio(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Audio:
    """Returns the complete sound with its rate and channels.

    For a video, the result is its sound track.

    MP3 and float files may have samples outside -1..1. They are kept up to ``LOUDEST``.
    The sound is decoded once, and all calls share the read-only samples. Raises the
    errors of this package. A sound without samples, or with NaN or infinite samples, is
    corrupt.
    """
    import numpy

    blocks = _blocks(media, limits, whole=True)
    clock = Clock(media, limits)
    joined = _GrowingSamples()
    rate = 0
    with decoding(media, "sound"), quiet():
        for block in blocks:
            frames = joined.count + len(block.samples)
            channels = block.samples.shape[1]
            _check_audio_size(media, limits, frames, channels, block.rate)
            joined.add(_finite(media, block.samples))
            rate = rate or block.rate
            clock.check()
        if not joined.count:
            raise CorruptMediaError(f"{media.label}: it contains no samples")
        samples = joined.whole()
        numpy.clip(samples, -LOUDEST, LOUDEST, out=samples)
        samples.flags.writeable = False
        return Audio(samples, rate)


@dataclass(frozen=True, slots=True, eq=False)
class SoundStart:
    """The start of a sound, mixed to one channel.

    ``samples`` have the shape (n,). ``more`` is True if the sound continues.
    """

    samples: np.ndarray[Any, np.dtype[np.float32]]
    rate: int
    more: bool


def sound_start(
    media: Media, seconds: float, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> SoundStart:
    """Returns the first seconds of a sound, mixed to one channel.

    The channels are averaged, and samples are clipped to -1..1.

    The rest of the sound is not decoded, so a sound that exceeds the limits is allowed.
    Raises the errors of this package.
    """
    import numpy

    clock = Clock(media, limits)
    mono_blocks = []
    count = rate = 0
    blocks = _blocks(media, limits, whole=False)
    with contextlib.closing(blocks), decoding(media, "sound"), quiet():
        for block in blocks:
            rate = rate or block.rate
            count += len(block.samples)
            frames = min(count, int(seconds * rate))
            _check_audio_size(media, limits, frames, 1, block.rate)
            mono = _finite(media, block.samples).mean(axis=1)
            mono_blocks.append(numpy.clip(mono, -1.0, 1.0))
            if count > seconds * rate:
                break
            clock.check()
        if not count:
            raise CorruptMediaError(f"{media.label}: it contains no samples")
        most = int(seconds * rate)
        return SoundStart(numpy.concatenate(mono_blocks)[:most], rate, count > most)


def _finite(
    media: Media, samples: np.ndarray[Any, np.dtype[np.float32]]
) -> np.ndarray[Any, np.dtype[np.float32]]:
    import numpy

    if not numpy.isfinite(samples).all():
        raise CorruptMediaError(
            f"{media.label}: some of its samples are not numbers (NaN or infinite)"
        )
    return samples


def _blocks(
    media: Media, limits: DecodeLimits, *, whole: bool
) -> Generator[Audio, None, None]:
    """Returns the sound in blocks.

    With ``whole``, the declared size of the sound must be within the limits.
    """
    data = whole_bytes(media, limits)
    if media.mime == _WAVE:
        data = whole_wave(data)
        if wave_format(data) == _WHOLE_NUMBERS_OF_64_BITS:
            return _sound_track_blocks(media, data, limits)
    if media.mime in _SOUND_FILE_MIMES:
        return _sound_file_blocks(media, data, limits, whole=whole)
    if media.mime in AV_FORMATS:
        return _sound_track_blocks(media, data, limits)
    raise not_read(media, ["audio", "video"], "which is not decoded as sound")


class _GrowingSamples:
    """Samples that grow in place, because joining blocks would need twice the
    memory."""

    def __init__(self) -> None:
        self.count = 0

    def add(
        self,
        block: np.ndarray[Any, np.dtype[np.float32]],
    ) -> None:
        channels = block.shape[1]
        end = self.count + len(block)
        if not self.count:
            self._buffer = block[:0].copy()
        if end > len(self._buffer):
            rows = end + _AUDIO_BLOCK // channels
            self._buffer.resize((rows, channels), refcheck=False)
        self._buffer[self.count : end] = block
        self.count = end

    def whole(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        channels = self._buffer.shape[1]
        self._buffer.resize((self.count, channels), refcheck=False)
        return self._buffer


def _check_audio_size(
    media: Media, limits: DecodeLimits, frames: int, channels: int, rate: int
) -> None:
    if rate <= 0:
        raise CorruptMediaError(f"{media.label}: its sampling rate is {rate} Hz")
    samples = frames * channels
    within(
        media, "max_audio_seconds", limits.max_audio_seconds, frames / rate, "seconds"
    )
    within(media, "max_audio_samples", limits.max_audio_samples, samples, "samples")
    within(
        media,
        "max_step_bytes",
        limits.step_bytes(media.size),
        samples * _SAMPLE_BYTES,
        "bytes of memory",
    )


def _sound_file_blocks(
    media: Media, data: bytes, limits: DecodeLimits, *, whole: bool
) -> Generator[Audio, None, None]:
    """Yields the blocks of a sound, read with libsndfile.

    Raises NotImplementedError for an unsupported codec or depth. Also raises the errors
    of soundfile.
    """
    import soundfile

    try:
        opened_file = soundfile.SoundFile(io.BytesIO(data))
    except soundfile.LibsndfileError as error:
        if is_unread(data, media.mime, error.code):
            raise NotImplementedError(error.error_string) from error
        raise
    with opened_file as file:
        declared = file.frames
        if declared >= _UNKNOWN_LENGTH:
            yield from _sound_track_blocks(media, data, limits)
            return
        frames = declared if whole else 0
        _check_audio_size(media, limits, frames, file.channels, file.samplerate)
        count = 0
        block = max(1, _AUDIO_BLOCK // file.channels)
        while len(samples := file.read(block, dtype="float32", always_2d=True)):
            count += len(samples)
            yield Audio(samples, file.samplerate)
        # The declared length of MPEG audio is only an estimate.
        if count < declared and media.mime != "audio/mpeg":
            raise CorruptMediaError(
                f"{media.label}: it is cut short, and only {count} of {declared} "
                "frames could be read"
            )


def _sound_track_blocks(
    media: Media, data: bytes, limits: DecodeLimits
) -> Generator[Audio, None, None]:
    av = need("av", "video")
    with opened(media, data, limits) as container:
        if not container.streams.audio:
            raise CorruptMediaError(f"{media.label}: it has no sound track")
        stream = container.streams.audio[0]
        require_codec(stream, media, data)
        _check_audio_size(media, limits, 0, stream.channels, stream.rate)
        resampler = av.AudioResampler(
            format="flt", layout=stream.layout, rate=stream.rate
        )
        # None flushes the resampler.
        for frame in chain(decoded(container, stream), (None,)):
            for part in resampler.resample(frame):
                channels = len(part.layout.channels)
                yield Audio(part.to_ndarray().reshape(-1, channels), stream.rate)
