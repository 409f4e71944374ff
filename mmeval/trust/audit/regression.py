"""How a judge's score depends on a feature of the answer, at equal human ratings.

A regression on one noisy rating would take what people like for what the judge
favours. With two ratings, each serves as the instrument of the other, in both orders.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.rated_trials import Places, cluster_sums


class Slope(NamedTuple):
    """Points for each unit of the feature, and the error over clusters."""

    value: float
    stderr: float | None


def instrumented_slope(
    score: Values, humans: tuple[Values, Values], feature: Values, clusters: Places
) -> Slope | None:
    """Returns the slope of the feature, with two ratings of each trial.

    If both ratings are the same, this is the ordinary regression on them. Returns None
    if ratings or feature do not vary enough to tell.
    """
    first, second = humans
    design = _design(np.concatenate((first, second)), feature)
    instruments = _design(np.concatenate((second, first)), feature)
    cross = instruments.T @ design
    if np.linalg.matrix_rank(cross) < len(cross):
        return None
    inverse = np.linalg.inv(cross)
    scores = np.tile(score, 2)
    weights = inverse @ (instruments.T @ scores)
    count = len(set(clusters.tolist()))
    if count < 2:
        return Slope(float(weights[-1]), None)

    errors = scores - design @ weights
    # both copies of a trial are in its cluster
    influences = instruments * errors[:, np.newaxis]
    sums = cluster_sums(influences, np.tile(clusters, 2))
    covariance = inverse @ (sums.T @ sums) @ inverse.T
    variance = float(covariance[-1, -1]) * count / (count - 1)
    return Slope(float(weights[-1]), math.sqrt(variance))


def _design(humans: Values, feature: Values) -> NDArray[np.float64]:
    """Returns a row for each rating: a constant, the rating and the feature."""
    return np.column_stack((np.ones(len(humans)), humans, np.tile(feature, 2)))
