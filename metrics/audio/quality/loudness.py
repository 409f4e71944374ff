"""Loudness of a whole recording, in LUFS (ITU-R BS.1770-4, one channel).

The same numbers as pyloudnorm's meter, whose filters differ from the published ones in the fifth digit. It is computed
here so that no further package is needed.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mmeval.metrics.audio.quality.recording import RATE

if TYPE_CHECKING:
    import numpy as np

    from mmeval.metrics.audio.clips import Samples

    Doubles: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

BLOCK, STEP = 0.4, 0.1
"""Seconds of a block, and between the starts of two."""
ABSOLUTE_GATE, RELATIVE_GATE = -70.0, -10.0
"""LUFS below which a block does not count, and how far below the mean of the others it may be."""
OFFSET = -0.691
"""Decibels by which the loudness of a sine of 997 Hz equals its level."""
SHORTEST = BLOCK
"""Seconds: the loudness of a shorter sound is not defined."""
_AT_ONCE = 100
"""Steps that are filtered at a time."""


class Stage(NamedTuple):
    """A stage of the frequency weighting: gain in decibels, quality, frequency in Hz."""

    gain: float
    quality: float
    hertz: float


SHELF = Stage(4.0, 1 / math.sqrt(2), 1500.0)
"""The effect of the head: frequencies above are louder."""
HIGH_PASS = Stage(0.0, 0.5, 38.0)
"""Frequencies below are not audible."""


def loudness(samples: Samples) -> float:
    """Integrated loudness in LUFS; minus infinity where every block is below the gate."""
    count = round((len(samples) / RATE - BLOCK) / STEP) + 1
    powers = _block_powers(_step_energies(samples), count)
    heard = powers[_lufs(powers) >= ABSOLUTE_GATE]
    if not len(heard):
        return -math.inf
    gate = float(_lufs(heard.mean())) + RELATIVE_GATE
    heard = heard[_lufs(heard) > gate]
    return float(_lufs(heard.mean()))


def _lufs(power: Any) -> Any:  # of one power, or of many
    import numpy

    with numpy.errstate(divide="ignore"):
        return OFFSET + 10 * numpy.log10(power)


def _step_energies(samples: Samples) -> Doubles:
    """The energy of each step of the weighted recording; the last may be shorter."""
    import numpy
    from scipy.signal import sosfilt

    step = round(STEP * RATE)
    state = numpy.zeros((2, 2))
    found: list[Doubles] = []
    for first in range(0, len(samples), _AT_ONCE * step):
        heard, state = sosfilt(_weighting(), samples[first : first + _AT_ONCE * step].astype(numpy.float64), zi=state)
        padded = numpy.pad(heard, (0, -len(heard) % step)).reshape(-1, step)
        found.append(numpy.einsum("ij,ij->i", padded, padded))
    return numpy.concatenate(found)


def _block_powers(energies: Doubles, count: int) -> Doubles:
    """The mean power of blocks of several steps; a recording is silent past its end."""
    import numpy

    steps = round(BLOCK / STEP)
    padded = numpy.pad(energies, (0, max(0, count + steps - 1 - len(energies))))
    blocks = numpy.lib.stride_tricks.sliding_window_view(padded, steps)[:count]
    powers: Doubles = blocks.sum(axis=1) / (BLOCK * RATE)
    return powers


@functools.cache
def _weighting() -> Doubles:
    """Both stages as second-order sections."""
    import numpy

    return numpy.array([_shelf(SHELF), _high_pass(HIGH_PASS)])


def _shelf(stage: Stage) -> list[float]:
    amplitude = 10 ** (stage.gain / 40)
    angle = 2 * math.pi * stage.hertz / RATE
    cosine, width = math.cos(angle), math.sin(angle) / stage.quality * math.sqrt(amplitude)
    more, less = amplitude + 1, amplitude - 1
    above = [more + less * cosine + width, -2 * (less + more * cosine), more + less * cosine - width]
    below = [more - less * cosine + width, 2 * (less - more * cosine), more - less * cosine - width]
    return [*(amplitude * value / below[0] for value in above), *(value / below[0] for value in below)]


def _high_pass(stage: Stage) -> list[float]:
    angle = 2 * math.pi * stage.hertz / RATE
    cosine, width = math.cos(angle), math.sin(angle) / (2 * stage.quality)
    half = (1 + cosine) / 2
    return [value / (1 + width) for value in (half, -2 * half, half, 1 + width, -2 * cosine, 1 - width)]
