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

from mmeval.aggregate.intervals import median_share, uncertainty_of_terms
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.aggregate.terms import scaled, term_of_mean
from mmeval.records.evidence import Term

NORMAL_95 = 1.96
"""Half the width of a 95 % interval over repeats in standard errors, as papers round
it. Over four repeats Student's t would be 3.18: the interval is too narrow, and kept so
that numbers can be compared."""

FEW_FOR_A_MEDIAN = "too few clusters for the interval of a median"


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
    return _mean(term_of_mean(scores), interval)


def weighted_mean(
    scores: Scores, *, interval: Literal["analytic", "bootstrap"] = "analytic"
) -> Estimate:
    """The mean in which each score counts by its weight, with a clustered standard
    error.

    That is the mean over the things that stand behind the scores, such as the steps of
    all mazes. Without any it has no value.
    """
    return _mean(term_of_mean(scores, weighted=True), interval)


def _mean(term: Term | None, interval: Literal["analytic", "bootstrap"]) -> Estimate:
    if term is None:
        return Estimate(None)
    if interval == "bootstrap":
        return Estimate(term.value)
    return Estimate(term.value, term.stderr, terms=(term,))


def median(scores: Scores) -> Estimate:
    """The median of existing values: the middle one, or the mean of the middle two.

    Its interval lies between two of the values: those below which the shares of values
    lie that the interval of one half ends at. Source: Woodruff, Confidence Intervals
    for Medians and Other Position Measures, 1952. Its standard error is bootstrapped.
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
    low = math.ceil(shares[0] * len(values) - 1e-9)
    high = math.ceil(shares[1] * len(values) - 1e-9)
    lowest = values[max(low, 1) - 1]
    highest = values[min(high, len(values)) - 1]
    return Estimate(value, ci95=(min(lowest, value), max(highest, value)))


def macro_mean(scores: Scores, *, by: str) -> Estimate:
    """The unweighted mean of the means by label ``by``, which ``breakdown`` names.

    A value of which nothing is scored is left out. Standard error: that of a mean of
    means, each clustered as usual; clusters that have several of the labels count once.
    None where all trials of a label are one cluster. Without any such label it is the
    mean.
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
    """The mean of the means of the repeats, and its standard error.

    That is their standard deviation (n - 1) over the root of n.
    """
    mean = math.fsum(means) / len(means)
    if len(means) < 2:
        return Spread(mean, None)
    squares = [(value - mean) ** 2 for value in means]
    variance = math.fsum(squares) / (len(means) - 1)
    return Spread(mean, math.sqrt(variance / len(means)))


def repeat_means(scores: Scores) -> list[float]:
    """The mean of each repeat over its scored trials, in the order of the repeats."""
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
    half_width = found.half_width
    if half_width is None:
        return Estimate(value, resample=False, no_interval="one repeat")
    return Estimate(value, found.stderr, (value - half_width, value + half_width))
