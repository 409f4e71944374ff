"""What a test would have seen, and how many clusters it takes to see a difference."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from mmeval.comparison.paired.score_test import score

_SUMMED_UP_TO = 400
"""Expected pairs that differ, up to which a power is summed; above, it is that of the
normal distribution."""
_NO_CHANCE = 1e-9
_MOST = 10**9


def sum_of_quantiles(freedom: float, alpha: float, power: float) -> float:
    """How many standard errors away a difference is seen with this ``power``."""
    ends = (1 - alpha / 2, power)
    if math.isinf(freedom):
        return float(sum(special.ndtri(end) for end in ends))
    return float(sum(special.stdtrit(freedom, end) for end in ends))


def clusters_needed(
    clusters: int, stderr: float, difference: float, alpha: float, power: float
) -> int:
    """The clusters at which a ``difference`` is as many standard errors as it takes to
    see it, if ``clusters`` of them have this ``stderr``."""

    def is_seen(count: int) -> bool:
        error = stderr * math.sqrt(clusters / count)
        return error * sum_of_quantiles(count - 1.0, alpha, power) <= abs(difference)

    return fewest(is_seen, 2)


def smallest_unseen(clusters: float, needed: int, power: float) -> float | None:
    """The share of clusters that have to differ so that ``needed`` of them do with this
    ``power``."""
    if needed > clusters:
        return None
    return float(special.betaincinv(needed, clusters - needed + 1, power))


def clusters_for_unseen(share: float, needed: int, power: float) -> int | None:
    """How many clusters it takes, if this ``share`` of them differs, so that
    ``needed`` do with this ``power``."""
    if not share:
        return None
    return fewest(
        lambda count: special.bdtrc(needed - 1, count, share) >= power, needed
    )


def smallest_share(
    pairs: int, differing: float, alpha: float, power: float
) -> float | None:
    """The smallest difference of two shares that the score test sees, where this share
    of pairs is ``differing``. A larger difference is one of pairs that all differ in
    one direction."""
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
    """How many pairs the score test needs to see a ``difference`` of shares, where
    ``changed`` of ``pairs`` differ."""
    if not difference:
        return None
    differing = changed / pairs
    return fewest(
        lambda count: (
            power_of_shares(count, differing, abs(difference), alpha) >= power
        ),
        2,
    )


def power_of_shares(
    pairs: int, differing: float, difference: float, alpha: float
) -> float:
    """The probability that the score test calls a ``difference`` of shares one."""
    share = max(differing, difference)
    reach = float(special.ndtri(1 - alpha / 2))
    if pairs * share > _SUMMED_UP_TO:
        error = math.sqrt((share - difference**2) / pairs) or 1e-300
        beyond = difference - reach * math.sqrt(share / pairs)
        return float(special.ndtr(beyond / error))
    counts = np.arange(min(pairs + 1, 4 * _SUMMED_UP_TO))
    chance = np.diff(special.bdtr(counts, pairs, share), prepend=0.0)
    # The most of the rarer kind with which this many pairs that differ are beyond
    # chance: (count - 2 * rarer) / sqrt(count) > reach; below 0 there are none.
    rarer = np.ceil((counts - reach * np.sqrt(counts)) / 2) - 1
    lost = (share - difference) / 2 / share
    one_way, other_way = (
        np.where(rarer >= 0, special.bdtr(np.maximum(rarer, 0), counts, side), 0.0)
        for side in (lost, 1 - lost)
    )
    return float(chance @ (one_way + other_way))


def power_of_equivalence(
    pairs: int, differing: float, margin: float, alpha: float
) -> float:
    """The probability that the second of two equal runs is shown to be no worse than
    the ``margin``, where this share of pairs is ``differing``."""
    reach = float(special.ndtri(1 - alpha / 2))
    if pairs * differing > _SUMMED_UP_TO:
        expected = pairs * differing / 2
        statistic, _ = score(expected, expected, pairs, -margin)
        # the score's own error is that of a difference at the margin
        own = margin / float(statistic)
        error = math.sqrt(differing / pairs)
        return float(special.ndtr((margin - reach * own) / error))
    counts = np.arange(min(pairs + 1, 4 * _SUMMED_UP_TO))
    chance = np.diff(special.bdtr(counts, pairs, differing), prepend=0.0)
    shown = 0.0
    for count in counts[chance > _NO_CHANCE]:
        won = np.arange(count + 1)
        scores, _ = score(won, count - won, pairs, -margin)
        # more won pairs have a higher score
        enough = int(np.searchsorted(scores, reach, side="right"))
        missed = special.bdtr(enough - 1, count, 0.5) if enough else 0.0
        shown += chance[count] * (1 - missed)
    return float(shown)


def fewest(is_enough: Callable[[int], bool], first: int) -> int:
    """The fewest that are enough, to a hundredth, from ``first`` on."""
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
