"""The score test of a difference between two paired shares of right answers.

Source: Tango, Equivalence test and confidence interval for the difference in
proportions for the paired-sample design, 1998. For a difference of 0 it is McNemar's
test without correction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mmeval.aggregate.resampling import Values

_SUMMED_UP_TO = 400.0
"""Up to this number of pairs that differ, the exact tail is summed. With more pairs,
the normal distribution is accurate enough."""
_DEVIATIONS = 6.5
"""Counts whose distance from the expected counts exceeds this number of standard
deviations have a negligible probability."""
_SAME = 1e-9


@dataclass(frozen=True)
class ScoreTest:
    """The score test of pairs. ``won`` counts the pairs that only the second run has
    right. ``lost`` counts the pairs that only the first run has right. The counts may
    be fractions. ``unit`` is the amount that one won pair adds to the difference."""

    won: float
    lost: float
    pairs: float
    unit: float = 1.0

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        statistic, _ = score(self.won, self.lost, self.pairs, limit / self.unit)
        return float(special.ndtr(statistic if above else -statistic))


@dataclass(frozen=True)
class ExactTail:
    """The exact probability that the score is at least as extreme as the observed one,
    if the true difference is at the limit. The share of pairs that differ is the most
    likely share under this condition.

    The normal distribution underestimates the probability of rare differences. With 4
    of 200 pairs lost and none won, the true difference is beyond the limit of the
    interval in 5 % of cases instead of 2.5 %.
    """

    won: int
    lost: int
    pairs: int

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        if self.won + self.lost > _SUMMED_UP_TO or not -1 < limit < 1:
            return 0.0
        observed, lost_share = score(self.won, self.lost, self.pairs, limit)
        won_share = max(0.0, float(lost_share) + limit)
        won = _likely_counts(self.pairs, won_share)[:, np.newaxis]
        lost = _likely_counts(self.pairs, float(lost_share))[np.newaxis, :]
        chance = _chance(won, lost, self.pairs, won_share, float(lost_share))
        scores, _ = score(won, lost, self.pairs, limit)
        is_extreme = scores >= observed - _SAME
        if above:
            is_extreme = scores <= observed + _SAME
        return min(1.0, float(chance[is_extreme].sum()))


def score(
    won: float | Values | NDArray[np.intp],
    lost: float | Values | NDArray[np.intp],
    pairs: float,
    limit: float,
) -> tuple[Values, Values]:
    """Returns the statistic and the most likely share of lost pairs, assuming that
    ``limit`` is the true difference. Under this assumption the statistic is standard
    normal."""
    limit = min(1.0, max(-1.0, limit))
    linear = -won - lost + (2 * pairs - won + lost) * limit
    constant = -lost * limit * (1 - limit)
    root = np.sqrt(np.maximum(linear * linear - 8 * pairs * constant, 0.0))
    share = (root - linear) / (4 * pairs)
    share = np.clip(share, max(0.0, -limit), (1 - limit) / 2)
    variance = pairs * (2 * share + limit * (1 - limit))
    apart = np.asarray(won - lost - pairs * limit, dtype=float)
    infinite = np.copysign(math.inf, apart)
    certain = np.where(np.abs(apart) < _SAME, 0.0, infinite)
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = apart / np.sqrt(np.maximum(variance, 0.0))
    return np.where(variance > 1e-300, statistic, certain), share


def _likely_counts(pairs: int, share: float) -> NDArray[np.intp]:
    middle = pairs * share
    reach = _DEVIATIONS * math.sqrt(middle * (1 - share)) + 8
    least, most = int(middle - reach), int(middle + reach)
    return np.arange(max(0, least), min(pairs, most) + 1)


def _chance(
    won: NDArray[np.intp],
    lost: NDArray[np.intp],
    pairs: int,
    won_share: float,
    lost_share: float,
) -> Values:
    """Returns the trinomial probability. It is 0 where the counts exceed the pairs."""
    tied = pairs - won - lost
    is_possible = tied >= 0
    tied = np.maximum(tied, 0)
    logarithm = (
        math.lgamma(pairs + 1)
        - special.gammaln(won + 1)
        - special.gammaln(lost + 1)
        - special.gammaln(tied + 1)
        + special.xlogy(won, won_share)
        + special.xlogy(lost, lost_share)
        + special.xlogy(tied, max(0.0, 1 - won_share - lost_share))
    )
    chance: Values = np.where(is_possible, np.exp(logarithm), 0.0)
    return chance
