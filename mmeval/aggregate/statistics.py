"""Records and constants of error estimates, and errors of sums of independent numbers.

Evidence is counted in *clusters*: groups of trials that may resemble each other, such
as the repeats of one sample or the questions about one picture. Clusters are treated as
independent of each other. Trials within a cluster are not.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

Interval: TypeAlias = tuple[float, float]

BOOTSTRAP_ITERS = 1000
FEWEST_DRAWS = 100
"""With fewer draws, a standard error is off by more than a tenth, and each end of an
interval depends on two or three draws."""


class Uncertainty(NamedTuple):
    """The uncertainty of a value, as far as it is known.

    ``bootstrap_iters`` is the number of draws. If the interval is missing,
    ``no_interval`` states the reason.
    """

    stderr: float | None = None
    ci95: Interval | None = None
    bootstrap_iters: int = 0
    no_interval: str = ""
    effective_clusters: float | None = None


def known_mean(values: Iterable[float | None]) -> float | None:
    """Returns the mean of the values that are not None, or None if all of them are."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def weighted_mean_stderr(errors: Sequence[float], shares: Sequence[float]) -> float:
    """Returns the standard error of a weighted mean of independent numbers.

    The shares sum to 1.
    """
    return math.hypot(*map(operator.mul, shares, errors))


def weighted_mean_interval(
    values: Sequence[float], intervals: Sequence[Interval], shares: Sequence[float]
) -> Interval:
    """Returns the 95 % interval of a weighted mean of independent numbers.

    The shares sum to 1.

    On each side, the distances from the values to the ends of the intervals add up like
    standard errors. This keeps the information in asymmetric, bootstrapped and wide
    intervals. Source: Zou and Donner, Construction of confidence limits about effect
    measures: a general approach, 2008.
    """
    below = []
    above = []
    for share, value, (low, high) in zip(shares, values, intervals, strict=True):
        below.append(share * (value - low))
        above.append(share * (high - value))
    middle = math.fsum(map(operator.mul, shares, values))
    return (middle - math.hypot(*below), middle + math.hypot(*above))
