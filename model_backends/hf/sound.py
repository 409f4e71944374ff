"""Sounds out of what models give as samples."""

from __future__ import annotations

from typing import Any

from mmeval.content import Media, wav


def to_sound(samples: Any, rate: int) -> Media:
    """A WAV with 16 bits of one sound: a tensor or array of floats in -1..1 at ``rate`` Hz, of any shape that holds one
    channel, such as (n,), (1, n) or (1, 1, n). ``Any``: whatever a library calls a waveform.

    Raises ValueError for several channels, for no samples, and for samples that are no numbers.
    """
    import numpy

    if hasattr(samples, "detach"):
        samples = samples.detach().float().cpu().numpy()
    array = numpy.asarray(samples, dtype=numpy.float32)
    if array.size != max(array.shape, default=0):
        raise ValueError(f"no sound of one channel: an array of shape {tuple(array.shape)}")
    return wav(array.reshape(-1), rate)
