"""Silence: which parts of a clip are silent, by energy.

The definition is librosa 0.11's (``effects.trim``, ``effects.split``). Frames overlap
and are centred on multiples of the hop. A frame is silent if its root mean square is
some decibels below that of the loudest frame. A clip that is silent throughout
therefore counts as sound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mmeval.metrics.audio.clips import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

FRAME, HOP = 2048, 512
"""Length of a frame and distance between the starts of two frames, in samples."""
TRIM_DB, SPLIT_DB = 60.0, 40.0
"""Decibels below the loudest frame that count as silence: at both ends, in pauses."""
_FAINTEST_POWER = 1e-10
"""The lowest mean square, so that digital silence has a finite level in decibels."""
_AT_ONCE = 1024
"""Number of frames in one step. Overlapping frames take several times the memory of
their clip."""


class Interval(NamedTuple):
    """The samples from ``start`` up to, but not including, ``end``."""

    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


def trimmed(samples: Samples, top_db: float = TRIM_DB) -> Samples:
    """Removes the silence at both ends. Only an empty clip has an empty result."""
    intervals = sounding(samples, top_db)
    if not intervals:
        return samples[:0]
    return samples[intervals[0].start : intervals[-1].end]


def sounding(
    samples: Samples, top_db: float = SPLIT_DB, *, frame: int = FRAME, hop: int = HOP
) -> list[Interval]:
    """Returns the intervals with sound, in order. Only an empty clip has none."""
    import numpy

    levels = rms(samples, frame=frame, hop=hop)
    # Single precision and a difference of two logarithms, as in librosa: otherwise a
    # sound exactly at the threshold could be classified differently.
    powers = numpy.maximum(numpy.square(levels), numpy.float32(_FAINTEST_POWER))
    decibels = numpy.log10(powers) * numpy.float32(10.0)
    is_sounding = decibels - decibels.max(initial=-numpy.inf) > -top_db
    edges = (
        numpy.flatnonzero(numpy.diff(is_sounding, prepend=False, append=False)) * hop
    )
    ends = numpy.minimum(edges, len(samples)).tolist()
    return list(map(Interval, ends[::2], ends[1::2]))


def segments(
    samples: Samples,
    *,
    gap: float = 1.0,
    top_db: float = SPLIT_DB,
    frame: int = FRAME,
    hop: int = HOP,
) -> list[Interval]:
    """Splits a clip at its pauses.

    A pause is a silence of more than ``gap`` seconds between two sounds. The first part
    begins with the first sound. Each further part begins with the sound after a pause.
    A part ends with the last sound before the next pause, and the last part ends with
    the clip. An empty clip has no parts.
    """
    intervals: list[Interval] = []
    for interval in sounding(samples, top_db, frame=frame, hop=hop):
        if intervals and interval.start - intervals[-1].end <= gap * RATE:
            intervals[-1] = Interval(intervals[-1].start, interval.end)
        else:
            intervals.append(interval)
    if intervals:
        intervals[-1] = Interval(intervals[-1].start, len(samples))
    return intervals


def rms(
    samples: Samples,
    *,
    frame: int = FRAME,
    hop: int = HOP,
) -> Samples:
    """Returns the root mean square of frames centred on multiples of the hop.

    There are ``n // hop + 1`` frames, and none for an empty clip. A clip is padded with
    zeros at both ends.
    """
    import numpy

    if not len(samples):
        return samples
    padded = numpy.pad(samples, frame // 2)
    frames = numpy.lib.stride_tricks.sliding_window_view(padded, frame)[::hop]
    powers: list[Samples] = []
    for start in range(0, len(frames), _AT_ONCE):
        squares = numpy.square(frames[start : start + _AT_ONCE])
        powers.append(squares.mean(axis=1))
    levels: Samples = numpy.sqrt(numpy.concatenate(powers))
    return levels
