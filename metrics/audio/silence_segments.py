"""Silence segments: do pauses make the wanted number of segments of a sound?"""

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
    """1 when pauses divide the answer's sound into as many segments as wanted, else 0.

    Range 0 to 1, higher is better. A pause is a silence of more than ``gap`` seconds
    between two sounds; silence at the beginning and at the end is not a pause. A sound
    that is silent throughout is one segment. An answer that has not exactly one sound,
    or one that is damaged, is 0, with the reason as evidence. Unscored without
    an answer.

    Switches: ``segments`` is the wanted number; what lies ``top_db`` decibels or more
    below the loudest frame is silent; ``frame`` and ``hop`` are in samples at 22050 Hz.
    Evidence: the lengths of the segments in samples.
    """
    clip = the_only_clip(trial)
    if isinstance(clip, Score):
        return clip
    found = silence.segments(clip, gap=gap, top_db=top_db, frame=frame, hop=hop)
    lengths = [part.length for part in found]
    return Score(float(len(found) == segments), evidence={"segments": lengths})
