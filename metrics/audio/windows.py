"""Windows: the first and the last seconds of a clip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mmeval.metrics.audio.clips import RATE

if TYPE_CHECKING:
    from mmeval.metrics.audio.clips import Samples

Edge = Literal["start", "end"]
ShortEnd = Literal["nothing", "whole"]
LONGEST = 4
"""Longest window in seconds."""


def window(
    samples: Samples,
    edge: Edge,
    *,
    longest: int = LONGEST,
    short_end: ShortEnd = "nothing",
) -> Samples:
    """Returns the first or last ``longest`` seconds of a clip.

    The window is at most half the clip, in whole seconds. A clip shorter than two
    seconds has empty windows. With ``short_end="whole"``, however, the window at the
    end is the entire clip.
    """
    count = min(longest, len(samples) // (2 * RATE)) * RATE
    if edge == "start":
        return samples[:count]
    if not count and short_end == "whole":
        # Official oddity (audio evaluators 54527db8): the end is cut with a negative
        # index, and an index of minus zero selects the whole clip.
        return samples
    return samples[len(samples) - count :]
