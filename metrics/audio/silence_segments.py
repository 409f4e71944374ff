"""Silence segments: whether pauses divide a sound into the requested segments."""

from __future__ import annotations

from mmeval.metric import metric
from mmeval.metrics.audio import silence
from mmeval.metrics.audio.clips import the_only_clip
from mmeval.records import Score, Trial
from mmeval.system import AboveZero, OneOrMore


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, task Sound Silence, its segments; official: audio evaluators "
    "54527db8",
)
def silence_segments(
    trial: Trial,
    *,
    segments: OneOrMore = 2,
    gap: float = 1.0,
    top_db: AboveZero = silence.SPLIT_DB,
    frame: OneOrMore = silence.FRAME,
    hop: OneOrMore = silence.HOP,
) -> Score:
    """1 if pauses divide the answer's sound into the requested segments, else 0.

    Range 0 to 1, higher is better. Silence at the beginning and at the end is not a
    pause. A sound that is silent throughout is one segment. An answer scores 0, with
    the ``reason`` as evidence, unless it has exactly one sound that can be decoded.
    Unscored without an answer.

    Not measured: what the sound is.

    Switches:

    - ``segments``: the requested number of segments.
    - ``gap``: a silence between two sounds is a pause if it is longer than this, in
      seconds.
    - ``top_db``: a frame is silent if it is at least this number of decibels below the
      loudest frame.
    - ``frame``, ``hop``: the length of a frame, and the distance between the starts of
      two frames, in samples at 22050 Hz.

    Evidence: the lengths of the segments in samples.

    In a task: ``metric_list: [{metric: silence_segments, segments: 3}]``
    """
    clip = the_only_clip(trial)
    if isinstance(clip, Score):
        return clip
    intervals = silence.segments(clip, gap=gap, top_db=top_db, frame=frame, hop=hop)
    lengths = [part.length for part in intervals]
    return Score(float(len(intervals) == segments), evidence={"segments": lengths})
