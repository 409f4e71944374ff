"""Computes the differences that tests can detect, and the clusters needed for this."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from mmeval.aggregate.resampling import Values
from mmeval.comparison.paired.score_test import ExactTail, score
from mmeval.comparison.paired.sign_flips import FEWEST_CLUSTERS

_SUMMED_UP_TO = 400
"""Up to this number of expected pairs that differ, a power is summed exactly. Above
this number, the normal distribution is used."""
_MANY_FREEDOM = 500.0
"""Above this number of degrees of freedom, a standard error is treated as known."""
_QUANTILES = 32
_NO_CHANCE = 1e-9
_RARE = 25.0
"""Up to this number of expected pairs that differ, the exact tail that a gate uses may
disagree with the score test that it uses."""
_SMALL_CHANCE = 1e-4
_MOST = 10**9


def reach_of(
    pilot: float,
    freedom: float,
    alpha: float,
    power: float,
) -> float:
    """Returns the difference detected with this ``power``, in standard errors.

    The standard error was estimated with ``pilot`` degrees of freedom, and will be
    estimated again with ``freedom``. Both estimates are uncertain. Treating the first
    as exact would overstate the power.
    """
    if min(pilot, freedom) > _MANY_FREEDOM:
        return float(special.ndtri(1 - alpha / 2) + special.ndtri(power))
    beyond = float(special.stdtrit(freedom, 1 - alpha / 2))
    first = _relative_errors(pilot)[:, np.newaxis]
    second = _relative_errors(freedom)[np.newaxis, :]
    low, high = 0.0, 1.0
    while special.ndtr(high * first - beyond * second).mean() < power and high < 1e6:
        high *= 2
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if special.ndtr(middle * first - beyond * second).mean() >= power:
            high = middle
        else:
            low = middle
    return high


def _relative_errors(freedom: float) -> Values:
    """Returns equally likely estimates of a standard error, divided by its true
    value."""
    probabilities = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    squares: Values = special.gammaincinv(freedom / 2, probabilities) * 2 / freedom
    return np.sqrt(squares)


def smallest_difference(
    reach: float,
    stderr: float,
    growth: float,
) -> float:
    """Returns the difference that is ``reach`` times its own standard error. The
    squared standard error grows by ``growth`` for each unit of difference."""
    linear = reach**2 * growth
    return (linear + math.sqrt(linear**2 + 4 * (reach * stderr) ** 2)) / 2


def clusters_needed(
    clusters: int,
    stderr: float,
    growth: float,
    pilot: float,
    difference: float,
    *,
    alpha: float,
    power: float,
) -> int:
    """Returns the number of clusters needed to detect a ``difference``. ``stderr`` and
    ``growth`` were computed from ``clusters`` clusters, with ``pilot`` degrees of
    freedom."""
    variance = clusters * (stderr**2 + abs(difference) * growth)

    def is_seen(count: int) -> bool:
        reach = reach_of(pilot, count - 1.0, alpha, power)
        return reach * math.sqrt(variance / count) <= abs(difference)

    return fewest(is_seen, 2)


def smallest_unseen(
    clusters: float,
    needed: int,
    power: float,
) -> float | None:
    """Returns the share of all clusters that must differ so that at least ``needed`` of
    the sampled clusters differ with probability ``power``."""
    if needed > clusters:
        return None
    return float(special.betaincinv(needed, clusters - needed + 1, power))


def clusters_for_unseen(
    share: float,
    needed: int,
    power: float,
) -> int | None:
    """Returns the number of clusters to sample so that at least ``needed`` of them
    differ with probability ``power``, if this ``share`` of all clusters differs."""
    if not share:
        return None
    return fewest(
        lambda count: special.bdtrc(needed - 1, count, share) >= power, needed
    )


def smallest_beyond_unseen(
    clusters: float, width: float, stderr: float, alpha: float, power: float
) -> float:
    """Returns the smallest difference that unobserved clusters are unlikely to explain.
    Each of these clusters could differ by the full ``width`` of the range."""
    # (1 - share) ** clusters is alpha, and the share lies between the difference and
    # the end of the range
    furthest_missed = width * math.expm1(-math.log(alpha) / clusters)
    return furthest_missed + max(0.0, float(special.ndtri(power))) * stderr


def clusters_beyond_unseen(
    clusters: int,
    effective: float,
    width: float,
    stderr: float,
    difference: float,
    *,
    alpha: float,
    power: float,
) -> int:
    """Returns the number of clusters needed to detect a ``difference`` that unobserved
    clusters might explain. ``stderr`` was computed from ``clusters`` clusters, which
    contain as much information as ``effective`` equal clusters."""

    def is_seen(count: int) -> bool:
        growth = count / clusters
        smallest = smallest_beyond_unseen(
            effective * growth, width, stderr / math.sqrt(growth), alpha, power
        )
        return smallest <= abs(difference)

    return fewest(is_seen, FEWEST_CLUSTERS)


def smallest_share(
    pairs: int, differing: float, alpha: float, power: float
) -> float | None:
    """Returns the smallest difference of two shares that the score test detects.
    ``differing`` is the share of pairs that differ. If the difference would exceed this
    share, all differing pairs are assumed to differ in one direction."""
    if power_of_shares(pairs, differing, 1.0, alpha) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        if power_of_shares(pairs, differing, middle, alpha) >= power:
            high = middle
        else:
            low = middle
    return high


def pairs_needed(
    pairs: int, changed: int, difference: float, alpha: float, power: float
) -> int | None:
    """Returns the number of pairs that the score test needs to detect a ``difference``
    of shares, if ``changed`` of ``pairs`` differ."""
    if not difference:
        return None
    # Laplace's rule: with few pairs, the observed share may be 0.
    differing = (changed + 1) / (pairs + 2)
    return fewest(
        lambda count: (
            power_of_shares(count, differing, abs(difference), alpha) >= power
        ),
        2,
    )


def power_of_shares(
    pairs: int, differing: float, difference: float, alpha: float
) -> float:
    """Returns the probability that the score test detects a ``difference`` of
    shares."""
    share = max(differing, difference)
    reach = float(special.ndtri(1 - alpha / 2))
    if pairs * share > _SUMMED_UP_TO:
        error = math.sqrt((share - difference**2) / pairs) or 1e-300
        beyond = difference - reach * math.sqrt(share / pairs)
        return float(special.ndtr(beyond / error))
    counts = np.arange(min(pairs + 1, 4 * _SUMMED_UP_TO))
    chance = np.diff(special.bdtr(counts, pairs, share), prepend=0.0)
    # The largest number of the rarer kind at which the pairs that differ are beyond
    # chance: (count - 2 * rarer) / sqrt(count) > reach. Below 0 there is none.
    rarer = np.ceil((counts - reach * np.sqrt(counts)) / 2) - 1
    lost = (share - difference) / 2 / share
    most = np.maximum(rarer, 0)
    beyond_chance = special.bdtr(most, counts, lost)
    beyond_chance += special.bdtr(most, counts, 1 - lost)
    return float(chance @ np.where(rarer >= 0, beyond_chance, 0.0))


def power_of_equivalence(
    pairs: int, differing: float, margin: float, alpha: float
) -> float:
    """Returns the probability of showing that one of two equal runs is not worse than
    the other by the ``margin``, if ``differing`` is the share of pairs that differ."""
    reach = float(special.ndtri(1 - alpha / 2))
    if pairs * differing > _SUMMED_UP_TO:
        expected = pairs * differing / 2
        statistic, _ = score(expected, expected, pairs, -margin)
        # the score test uses the error of a difference at the margin
        error_at_margin = margin / float(statistic)
        error = math.sqrt(differing / pairs)
        return float(special.ndtr((margin - reach * error_at_margin) / error))
    counts = np.arange(min(pairs + 1, 4 * _SUMMED_UP_TO))
    chance = np.diff(special.bdtr(counts, pairs, differing), prepend=0.0)
    shown = 0.0
    for count in counts[chance > _NO_CHANCE]:
        won = np.arange(count + 1)
        scores, _ = score(won, count - won, pairs, -margin)
        # more won pairs have a higher score
        enough = int(np.searchsorted(scores, reach, side="right"))
        if pairs * differing <= _RARE and chance[count] > _SMALL_CHANCE:
            # the fewest won pairs that also pass by the exact tail
            while enough <= count:
                tail = ExactTail(enough, int(count) - enough, pairs)
                if tail.one_sided_p(-margin, above=False) < alpha / 2:
                    break
                enough += 1
        missed = special.bdtr(enough - 1, count, 0.5) if enough else 0.0
        shown += chance[count] * (1 - missed)
    return float(shown)


def fewest(is_enough: Callable[[int], bool], first: int) -> int:
    """Returns the smallest number, at least ``first``, that is enough. The result is
    accurate to 1 %."""
    low, high = first, first
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MOST:
            return high
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high
