"""The macro mean: the mean of the means of parts, for benchmarks whose tasks are made of parts that count the same."""

from __future__ import annotations

import math

from mmeval.aggregate import statistics
from mmeval.aggregate.aggregators import mean
from mmeval.aggregate.scores import Estimate, Scores


def macro_mean(scores: Scores, *, by: str) -> Estimate:
    """The unweighted mean of the means of each value of the label ``by``, which ``breakdown`` has to name.

    A value of which nothing is scored is left out. Standard error: that of a mean of independent means, each clustered
    as usual; None where one of them has less than two clusters. Without any such label it is the mean.
    """
    parts = [part for part in scores.by_level(by).values() if part.values] or [scores]
    means = [mean(part) for part in parts]
    values = [found.value for found in means if found.value is not None]
    if not values:
        return Estimate(None)
    errors = [found.stderr for found in means if found.stderr is not None]
    shares = [1 / len(values)] * len(values)
    stderr = statistics.weighted_mean_stderr(errors, shares) if len(errors) == len(values) else None
    return Estimate(math.fsum(values) / len(values), stderr)
