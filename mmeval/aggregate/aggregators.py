"""Aggregators: mean, weighted mean, median, macro mean, and the mean with an error by
repeats.

The interval of ``repeats`` is that of papers that answer every sample a few times: how
much the number would change if the same samples were answered again. The interval of
``mean``, clustered by sample, is how much it would change with other samples of the
same kind, which is mostly more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mmeval.aggregate import statistics
from mmeval.aggregate.scores import ClusterSums, Estimate, Scores, cluster_sums

NORMAL_95 = 1.96
"""Half the width of a 95 % interval over repeats in standard errors, as papers round
it. Over four repeats Student's t would be 3.18: the interval is too narrow, and kept so
that numbers can be compared."""


class Spread(NamedTuple):
    """The mean of some repeats, and its standard error; None for a single repeat."""

    mean: float
    stderr: float | None

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % interval."""
        return None if self.stderr is None else NORMAL_95 * self.stderr


def mean(
    scores: Scores, *, interval: Literal["analytic", "bootstrap"] = "analytic"
) -> Estimate:
    """The arithmetic mean, with the standard error clustered by ``cluster``.

    Clusters default to samples, so the repeats of one sample do not count as
    independent evidence. With one cluster there is no standard error. ``interval:
    bootstrap`` leaves it to be bootstrapped.
    """
    return _mean(cluster_sums(scores), interval)


def weighted_mean(
    scores: Scores, *, interval: Literal["analytic", "bootstrap"] = "analytic"
) -> Estimate:
    """The mean in which each score counts by its weight, with a clustered standard
    error.

    That is the mean over the things that stand behind the scores, such as the steps of
    all mazes. Without any it has no value.
    """
    return _mean(cluster_sums(scores, weighted=True), interval)


def _mean(sums: ClusterSums, interval: Literal["analytic", "bootstrap"]) -> Estimate:
    n = sum(sums.counts)
    if not n:
        return Estimate(None)
    value = math.fsum(sums.totals) / n
    if len(sums.totals) < 2 or interval == "bootstrap":
        return Estimate(value)
    return Estimate(value, statistics.mean_stderr(sums.totals, sums.counts))


def median(scores: Scores) -> Estimate:
    """The median of existing values: the middle one, or the mean of the middle two.
    Its standard error is bootstrapped."""
    values = sorted(scores.values)
    if not values:
        return Estimate(None)
    middle = len(values) // 2
    return Estimate(
        values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2
    )


def macro_mean(scores: Scores, *, by: str) -> Estimate:
    """The unweighted mean of the means by label ``by``, which ``breakdown`` names.

    A value of which nothing is scored is left out. Standard error: that of a mean of
    independent means, each clustered as usual; None where one of them has less than two
    clusters. Without any such label it is the mean.
    """
    parts = [part for part in scores.by_level(by).values() if part.values] or [scores]
    means = [mean(part) for part in parts]
    values = [found.value for found in means if found.value is not None]
    if not values:
        return Estimate(None)
    errors = [found.stderr for found in means if found.stderr is not None]
    shares = [1 / len(values)] * len(values)
    stderr = (
        statistics.weighted_mean_stderr(errors, shares)
        if len(errors) == len(values)
        else None
    )
    return Estimate(math.fsum(values) / len(values), stderr)


def spread(means: Sequence[float]) -> Spread:
    """The mean of the means of the repeats, and its standard error.

    That is their standard deviation (n - 1) over the root of n.
    """
    mean = math.fsum(means) / len(means)
    if len(means) < 2:
        return Spread(mean, None)
    variance = math.fsum((value - mean) ** 2 for value in means) / (len(means) - 1)
    return Spread(mean, math.sqrt(variance / len(means)))


def repeat_means(scores: Scores) -> list[float]:
    """The mean of each repeat over its scored trials, in the order of the repeats."""
    found: dict[int, list[float]] = {}
    for row in scores:
        if row.value is not None:
            found.setdefault(row.repeat, []).append(row.value)
    return [math.fsum(values) / len(values) for _, values in sorted(found.items())]


def repeats(scores: Scores) -> Estimate:
    """The mean of the scored trials, with the error of the repeats' means.

    The standard error is the standard deviation of the repeats' means (n - 1) over the
    root of their number, the interval 1.96 of it to both sides, not cut at the range.
    With one repeat there is neither.
    """
    values = scores.values
    if not values:
        return Estimate(None)
    value = math.fsum(values) / len(values)
    found = spread(repeat_means(scores))
    if found.half_width is None:
        return Estimate(value, resample=False)
    return Estimate(
        value, found.stderr, (value - found.half_width, value + found.half_width)
    )
