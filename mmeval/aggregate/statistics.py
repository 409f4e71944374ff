"""Standard errors and 95 % intervals by formula.

Evidence is counted in *clusters*: groups of trials that may resemble each other, such
as the repeats of one sample or the questions about one picture. Clusters are treated as
independent of each other, trials within one are not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple, TypeAlias

Interval: TypeAlias = tuple[float, float]

UPPER = 0.975
"""The probability below the upper end of a 95 % interval with equal tails."""
NORMAL = 1.959963984540054
"""The quantile of the normal distribution at ``UPPER``."""
MANY_CLUSTERS = 1000
"""From here on the normal quantile replaces Student's, which is larger by one part in a
thousand."""

BOOTSTRAP_ITERS = 1000
FEWEST_DRAWS = 100
"""With fewer, a standard error is off by more than a tenth, and each end of an interval
rests on two or three draws."""


class Sureness(NamedTuple):
    """The uncertainty of a value, as far as it is known, and the draws that it was
    resampled by."""

    stderr: float | None = None
    ci95: Interval | None = None
    bootstrap_iters: int = 0


def mean_stderr(totals: Sequence[float], counts: Sequence[float]) -> float:
    """The standard error of ``sum(totals) / sum(counts)``, a mean of clustered trials.

    ``totals`` are the sums of the clusters' values, ``counts`` their numbers of trials,
    two clusters or more; of a weighted mean the values times weights, and the weights.
    This is the cluster-robust (sandwich) error of a mean with the factor C / (C - 1)
    for C clusters; with one trial in each cluster it is the sample's standard deviation
    over the root of C. Source: Cameron and Miller, A Practitioner's Guide to
    Cluster-Robust Inference, 2015.
    """
    clusters, n = len(totals), sum(counts)
    mean = math.fsum(totals) / n
    apart = [total - count * mean for total, count in zip(totals, counts, strict=True)]
    spread = math.fsum(map(operator.mul, apart, apart))
    return math.sqrt(clusters / (clusters - 1) * spread) / n


def quantile(clusters: int) -> float:
    """Half the width of a 95 % interval, in standard errors.
    Student's t with ``clusters - 1`` degrees of freedom."""
    return NORMAL if clusters >= MANY_CLUSTERS else _student(clusters - 1)


@cache
def _student(freedom: int) -> float:
    """The quantile of Student's t at ``UPPER``; importing ``scipy.special`` for it
    costs more than a small run.

    Newton's method for the angle whose tangent is ``t / sqrt(freedom)``, in which the
    probability between -t and t is a finite sum, and concave. Source: Abramowitz and
    Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    angle, odd = math.atan(NORMAL / math.sqrt(freedom)), freedom % 2
    slope = (
        2
        / math.sqrt(math.pi)
        * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    )
    step = 1.0
    while step > 1e-15:
        sine, cosine = math.sin(angle), math.cos(angle)
        term, total = cosine if odd else 1.0, 0.0
        for power in range(odd, freedom - 1, 2):
            total += term
            term *= (power + 1) / (power + 2) * cosine * cosine
        held = 2 / math.pi * (angle + sine * total) if odd else sine * total
        step = (2 * UPPER - 1 - held) / (slope * cosine ** (freedom - 1))
        angle += step
    return math.sqrt(freedom) * math.tan(angle)


def interval(value: float, stderr: float, clusters: int, range: Interval) -> Interval:
    """The 95 % interval by the standard error, cut at the range if the value is in it.
    A value outside has another scale than the range."""
    half = quantile(clusters) * stderr if stderr else 0.0
    low, high = range if range[0] <= value <= range[1] else (-math.inf, math.inf)
    return (max(value - half, low), min(value + half, high))


def same_value_interval(value: float, clusters: int, range: Interval) -> Interval:
    """The 95 % interval of a mean if all clusters have the same one (all right, say).

    Their standard error is 0, which is no certainty: values that were never seen may
    come next. With 95 % confidence the seen value has at least the share ``s`` of all,
    where ``s ** clusters = 0.05``, and the rest lies within the finite ``range``. For
    shares of right answers this is the one-sided interval of Clopper and Pearson.
    """
    # betaincinv(clusters, 1, 0.05) to the digit, without importing scipy
    unseen = 1 - 0.05 ** (1 / clusters)
    low, high = min(range[0], value), max(range[1], value)
    return (value - unseen * (value - low), value + unseen * (high - value))


def known_mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that exist; None without any."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def weighted_mean_stderr(errors: Sequence[float], shares: Sequence[float]) -> float:
    """The standard error of a weighted mean of independent numbers (shares sum to
    1)."""
    return math.hypot(
        *(share * error for share, error in zip(shares, errors, strict=True))
    )


def weighted_mean_interval(
    values: Sequence[float], intervals: Sequence[Interval], shares: Sequence[float]
) -> Interval:
    """The 95 % interval of a weighted mean of independent numbers (shares sum to 1).

    Each side adds up the distances of that side as standard errors add up, so that
    intervals which are not symmetric, rest on few clusters or were bootstrapped keep
    what they know. Source: Zou and Donner, Construction of confidence limits about
    effect measures: a general approach, 2008.
    """
    middle = math.fsum(
        share * value for share, value in zip(shares, values, strict=True)
    )
    members = list(zip(shares, values, intervals, strict=True))
    below = math.hypot(*(share * (value - low) for share, value, (low, _) in members))
    above = math.hypot(*(share * (high - value) for share, value, (_, high) in members))
    return (middle - below, middle + above)
