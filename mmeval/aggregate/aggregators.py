"""Aggregators: mean, weighted mean, median, macro mean, and mean over repeats.

The interval of ``repeats`` is the one that papers report if they answer every sample
several times. It shows how much the number would change if the same samples were
answered again. The interval of ``mean``, clustered by sample, shows how much it would
change with other samples of the same kind. This interval is usually wider.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from mmeval.aggregate.intervals import median_share, uncertainty_of_terms
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.aggregate.terms import scaled, term_of_mean
from mmeval.records.evidence import Term

NORMAL_95 = 1.96
"""Half the width of a 95 % interval over repeats, in standard errors. Papers round it
to this value. An interval of this width is too narrow: over four repeats, Student's t
would be 3.18. The value is used so that results can be compared with published numbers.
"""

FEW_FOR_A_MEDIAN = "too few clusters for the interval of a median"


class Spread(NamedTuple):
    """The mean over repeats, and its standard error or None for a single repeat."""

    mean: float
    stderr: float | None

    @property
    def half_width(self) -> float | None:
        """Half of the 95 % interval."""
        return None if self.stderr is None else NORMAL_95 * self.stderr


def mean(
    scores: Scores, *, interval: Literal["analytic", "bootstrap"] = "analytic"
) -> Estimate:
    """Returns the arithmetic mean, with its standard error clustered by ``cluster``.

    By default a cluster is a sample, so the repeats of one sample do not count as
    independent evidence. The standard error of a single cluster is unknown. With
    ``interval: bootstrap`` the standard error is bootstrapped.
    """
    return _mean(term_of_mean(scores), interval)


def weighted_mean(
    scores: Scores, *, interval: Literal["analytic", "bootstrap"] = "analytic"
) -> Estimate:
    """Returns the weighted mean, with a clustered standard error.

    The weight of a score is its number of units, such as the steps of a maze. The
    result has no value if all weights are 0.
    """
    return _mean(term_of_mean(scores, weighted=True), interval)


def _mean(term: Term | None, interval: Literal["analytic", "bootstrap"]) -> Estimate:
    if term is None:
        return Estimate(None)
    if interval == "bootstrap":
        return Estimate(term.value)
    return Estimate(term.value, term.stderr, terms=(term,))


def median(scores: Scores) -> Estimate:
    """Returns the median of the scores that have a value.

    With an even number of values, the median is the mean of the middle two.

    The ends of the interval are two of the values. They are the quantiles at the two
    ends of the interval of a share of one half. Source: Woodruff, Confidence Intervals
    for Medians and Other Position Measures, 1952. The standard error is bootstrapped.
    """
    values = sorted(scores.values)
    if not values:
        return Estimate(None)
    middle = len(values) // 2
    value = values[middle]
    if len(values) % 2 == 0:
        value = (values[middle - 1] + value) / 2
    shares = median_share(scores, value)
    if shares is None:
        return Estimate(value, no_interval=FEW_FOR_A_MEDIAN)
    # without 1e-9 a product such as 0.3 * 10 could round up to the next value
    low = math.ceil(shares[0] * len(values) - 1e-9)
    high = math.ceil(shares[1] * len(values) - 1e-9)
    lowest = values[max(low, 1) - 1]
    highest = values[min(high, len(values)) - 1]
    return Estimate(value, ci95=(min(lowest, value), max(highest, value)))


def macro_mean(scores: Scores, *, by: str) -> Estimate:
    """Returns the mean of the means per level of the label ``by``.

    All levels have the same weight. ``by`` is a label that ``breakdown`` names.

    A level without a score is left out. The standard error is the error of a mean of
    means, each of them clustered as usual. A cluster with trials in several levels is
    treated as one cluster. The standard error is None if all trials of a level are in
    one cluster. If no row has the label, the result is the mean.
    """
    means = []
    for level in scores.by_level(by).values():
        term = term_of_mean(level)
        if term is not None:
            means.append(term)
    if not means:
        return mean(scores)
    terms = scaled(means, 1 / len(means))
    value = math.fsum(term.value for term in means) / len(means)
    return Estimate(value, uncertainty_of_terms(value, terms).stderr, terms=terms)


def spread(means: Sequence[float]) -> Spread:
    """Returns the mean of the repeats' means and its standard error.

    The standard error is the standard deviation (with n - 1) divided by the square root
    of n, the number of repeats.
    """
    mean = math.fsum(means) / len(means)
    if len(means) < 2:
        return Spread(mean, None)
    squares = [(value - mean) ** 2 for value in means]
    variance = math.fsum(squares) / (len(means) - 1)
    return Spread(mean, math.sqrt(variance / len(means)))


def repeat_means(scores: Scores) -> list[float]:
    """Returns the mean of each repeat's scored trials, in the order of the repeats."""
    by_repeat: dict[int, list[float]] = {}
    for row in scores:
        if row.value is not None:
            by_repeat.setdefault(row.repeat, []).append(row.value)
    means = []
    for repeat in sorted(by_repeat):
        values = by_repeat[repeat]
        means.append(math.fsum(values) / len(values))
    return means


def repeats(scores: Scores) -> Estimate:
    """Returns the mean of the scored trials, with the error of the repeats' means.

    The standard error is the standard deviation of the repeats' means (with n - 1),
    divided by the square root of their number. The interval extends 1.96 standard
    errors to each side of the mean and can exceed the metric's range. With one repeat,
    both are unknown.
    """
    values = scores.values
    if not values:
        return Estimate(None)
    value = math.fsum(values) / len(values)
    repeat_spread = spread(repeat_means(scores))
    half_width = repeat_spread.half_width
    if half_width is None:
        return Estimate(value, resample=False, no_interval="one repeat")
    return Estimate(
        value, repeat_spread.stderr, (value - half_width, value + half_width)
    )
