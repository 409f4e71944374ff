"""Intensity: whether the answer's sound becomes louder or quieter as requested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval.metric import metric
from mmeval.metrics.audio.clips import RATE, the_only_clip
from mmeval.metrics.audio.silence import FRAME, HOP, TRIM_DB, rms, trimmed
from mmeval.metrics.audio.windows import LONGEST, Edge, ShortEnd, window
from mmeval.metrics.produced import wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import AboveZero, OneOrMore

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

Trend = Literal["fade in", "fade out", "<none>"]
EDGES: tuple[Edge, ...] = ("start", "end")
TRENDS: tuple[Trend, ...] = ("fade in", "fade out")


class FittedLine(NamedTuple):
    """A straight line fitted to points: its slope, and the slope's standard error."""

    slope: float
    stderr: float


class RequestedFade(NamedTuple):
    edge: Edge
    trend: Trend


def _sample_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    key = switches["intensity_key"]
    if _requested_fade(sample, key):
        return ""
    return f"the label {key!r} must be a pair such as ['start', 'fade in']"


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, task Music Intensity; official: audio evaluators 54527db8",
    profiles={"official": {"short_end": "whole"}},
    check=_sample_fault,
)
def intensity(
    trial: Trial,
    *,
    intensity_key: str = "intensity",
    steepness: float = 0.18,
    error: float = 0.04,
    seconds: OneOrMore = LONGEST,
    distance: OneOrMore = 4,
    margin: OneOrMore = 5,
    top_db: AboveZero = TRIM_DB,
    frame: OneOrMore = FRAME,
    hop: OneOrMore = HOP,
    short_end: ShortEnd = "nothing",
) -> Score:
    """1 if the sound fades in or out at its start or end as requested, else 0.

    Range 0 to 1, higher is better. Silence at both ends is cut off, and the first or
    last seconds are measured. A straight line is fitted to the peaks of their loudness
    (root mean square, scaled to 0..1) over the time in seconds. If no line can be
    fitted (no peak, one point, constant loudness, less than two seconds), the sound
    counts as not fading. An answer scores 0, with the ``reason`` as evidence, unless it
    has exactly one sound that can be decoded. Unscored without an answer or a label.

    Not measured: what the sound is.

    Labels, for example: ``{"intensity": ["start", "fade in"]}``.

    Switches:

    - ``intensity_key``: the label, a pair: ``start`` or ``end``, then ``fade in`` or
      ``fade out``.
    - ``steepness``, ``error``: a sound fades in if its slope is above ``steepness`` and
      the slope's standard error is below ``error``. It fades out if the slope is below
      minus ``steepness``, with the same limit for the error.
    - ``seconds``: how many seconds are measured, at most half of the sound in whole
      seconds.
    - ``distance``: the smallest distance between peaks, in frames.
    - ``margin``: the first and the last frame count as peaks if the nearest peak is at
      least this number of frames away.
    - ``top_db``: a frame is silent if it is at least this number of decibels below the
      loudest frame.
    - ``frame``, ``hop``: the length of a frame, and the distance between the starts of
      two frames, in samples at 22050 Hz.
    - ``short_end``: what is measured at the end of a sound shorter than two seconds:
      ``nothing``, or the ``whole`` sound.

    Evidence: ``slope``, ``stderr`` and ``trend``, and a ``reason`` if no line is
    fitted.
    """
    clip = the_only_clip(trial)
    if isinstance(clip, Score):
        return clip
    fade = _requested_fade(trial.sample, intensity_key)
    if fade is None:
        fault = _sample_fault(trial.sample, {"intensity_key": intensity_key})
        return Score.unscored(fault)
    part = window(
        trimmed(clip, top_db), fade.edge, longest=seconds, short_end=short_end
    )
    levels = rms(part, frame=frame, hop=hop)
    line = line_of_peaks(levels, distance=distance, margin=margin, hop=hop)
    if line is None:
        if not len(part):
            reason = "the sound is shorter than two seconds without silence at its ends"
        elif levels.min() == levels.max():
            reason = "the sound is equally loud throughout, so there are no peaks"
        else:
            reason = "the sound's loudness has fewer than two peaks to fit a line to"
        return wrong(reason, slope=None, stderr=None, trend="<none>")
    trend: Trend = "<none>"
    if abs(line.slope) > steepness and line.stderr < error:
        trend = "fade in" if line.slope > 0 else "fade out"
    evidence = {**line._asdict(), "trend": trend}
    return Score(float(trend == fade.trend), evidence=evidence)


def line_of_peaks(
    levels: Samples, *, distance: int = 4, margin: int = 5, hop: int = HOP
) -> FittedLine | None:
    """Fits a line to the peaks of levels (scaled to 0..1) over the time in seconds.

    Returns None if there are fewer than two points.
    """
    import numpy
    from scipy.signal import find_peaks
    from scipy.stats import linregress

    span = float(numpy.ptp(levels)) if len(levels) else 0.0
    if not span:
        return None
    scaled = (levels - levels.min()) / span
    points = find_peaks(scaled, distance=distance)[0].tolist()
    if not points:
        return None
    first, last = points[0], points[-1]
    if first >= margin:
        points.insert(0, 0)
    if last < len(scaled) - margin:
        points.append(len(scaled) - 1)
    if len(points) < 2:
        return None
    fit = linregress(numpy.asarray(points) * hop / RATE, scaled[points])
    return FittedLine(float(fit.slope), float(fit.stderr))


def _requested_fade(sample: Sample, key: str) -> RequestedFade | None:
    """Returns the fade that the row requests, or None if its label is not valid."""
    label: Any = sample.metadata.get(key)
    if not isinstance(label, (list, tuple)) or len(label) != 2:
        return None
    edge, trend = label
    if edge not in EDGES or trend not in TRENDS:
        return None
    return RequestedFade(edge, trend)
