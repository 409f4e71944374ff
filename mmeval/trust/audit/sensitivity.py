"""BD and BC: how far a judge's scores fall, and how far they stay.

Both are the measures of MM-JudgeBias (arXiv 2604.18164), on a scale from 0 to 1. A
constant judge has BC 1 and BD 0, and a noisy one has BD above 0 without looking.
"""

from __future__ import annotations

import numpy as np

from mmeval.aggregate.resampling import Values


def bd(intact: Values, changed: Values) -> float | None:
    """Returns the mean share of its score that an answer loses by the change, over
    answers with a score above the lowest one.

    Higher is better where the change must be noticed. A gain counts as 0. Returns None
    if no answer has a score above the lowest one.
    """
    can_fall = intact > 0
    if not can_fall.any():
        return None
    lost = np.maximum(0.0, intact - changed)[can_fall]
    return float((lost / intact[can_fall]).mean())


def bc(intact: Values, changed: Values) -> float | None:
    """Returns 1 minus the mean move of a score, as a share of the largest move that the
    scale allows.

    Higher is better where the change must not matter. Returns None without answers.
    """
    if len(intact) == 0:
        return None
    largest = np.maximum(intact, 1 - intact)
    return float((1 - np.abs(intact - changed) / largest).mean())
