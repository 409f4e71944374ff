"""Tests of a paired difference: what it is, how sure that is, what would have been
seen.

Trials of two runs are paired, and evidence is counted in clusters of pairs, as it is
for one run. A difference of means is a sum of what each cluster adds to it: the mean of
a task, a mean of several means and a group differ in how much that is, and in the
strata, the tasks that were drawn apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mmeval.aggregate.aggregators import mean, median, weighted_mean
from mmeval.aggregate.resampling import Values, distribution, drawn_statistic, fewer
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.statistics import BOOTSTRAP_ITERS, UPPER, Interval

Ints: TypeAlias = NDArray[np.intp]
Method = Literal["mcnemar", "sign_flip", "t", "bootstrap"]
Correction = Literal["holm", "bh", "none"]

FEW_CLUSTERS = 30
"""Below, the signs of clusters are flipped; from here on Student's t is as good and
faster."""
_EXACT_DISCORDANT = 400
"""Expected discordant pairs up to which the power of McNemar's test is summed; above,
it is that of the normal."""
_TIES = 1e-9
"""Sums that differ by less than this share are equal: the order of adding decides their
last digits."""


class Part(NamedTuple):
    """Paired trials of one mean, with its ``share`` of the number and the stratum they
    were drawn in (their task). The weights are how many things stand behind each score,
    1 but for weighted means."""

    stratum: str
    share: float
    clusters: Sequence[str]
    a: Values
    b: Values
    weights_a: Values
    weights_b: Values


@dataclass(frozen=True)
class Paired:
    """A difference ``b - a`` and its test.

    ``stderr`` and ``ci95`` are None where nothing is known of them. ``changed`` counts
    the clusters that differ at all, ``freedom`` are the degrees of freedom of the
    interval, ``width`` is that of the metric's range (infinite: unknown).
    """

    a: float
    b: float
    stderr: float | None
    ci95: Interval | None
    p: float | None
    method: Method
    clusters: int
    changed: int
    freedom: float
    width: float

    @property
    def difference(self) -> float:
        return self.b - self.a

    def doubt(self, limit: float, *, above: bool) -> float:
        """The one-sided p against a true difference beyond ``limit`` on that side.
        Small: the true difference is not ``above`` the limit (or not below it)."""
        distance = (limit - self.difference) * (1 if above else -1)
        if distance <= 0 or self.stderr is None:
            return 1.0
        if self.stderr > 0:
            return float(special.stdtr(self.freedom, -distance / self.stderr))
        # to the end of what can be
        room = self.width + (-self.difference if above else self.difference)
        return (
            float((1 - min(1.0, distance / room)) ** self.clusters)
            if math.isfinite(room) and room > 0
            else 1.0
        )

    def smallest_seen(self, alpha: float, power: float) -> float | None:
        """The smallest true difference that the test calls one at ``alpha``, with
        probability ``power``. None: none at all, or it is not known."""
        if self.stderr is None or (
            self.method == "sign_flip" and 2.0 ** (1 - self.clusters) >= alpha
        ):
            return None
        if self.method == "mcnemar":
            return _mcnemar_seen(
                self.clusters, self.changed / self.clusters, alpha, power
            )
        # so many clusters that all change in one direction are seen
        needed = 1 + math.ceil(math.log2(1 / alpha))
        if self.method != "bootstrap" and (not self.stderr or self.changed < needed):
            share = _share_seen(self.clusters, needed, power)
            return (
                None if share is None or math.isinf(self.width) else share * self.width
            )
        if self.stderr == 0:
            return None
        return float(_sum_of_quantiles(self.freedom, alpha, power) * self.stderr)

    def clusters_needed(
        self, difference: float, alpha: float, power: float
    ) -> int | None:
        """How many clusters such as these it takes to see a ``difference``; None where
        that is not known."""
        if not self.stderr:
            needed = 1 + math.ceil(math.log2(1 / alpha))
            share = min(1.0, abs(difference) / self.width)
            if self.stderr is None or not share:
                return None
            found = next(
                (
                    n
                    for n in _growing(needed)
                    if special.bdtrc(needed - 1, n, share) >= power
                ),
                None,
            )
            return None if found is None else int(found)
        return math.ceil(
            self.clusters
            * (_sum_of_quantiles(math.inf, alpha, power) * self.stderr / difference)
            ** 2
        )


def _growing(first: int) -> Sequence[int]:
    return [math.ceil(first * 1.02**step) for step in range(1_000)]


def _sum_of_quantiles(freedom: float, alpha: float, power: float) -> float:
    ends = (1 - alpha / 2, power)
    if math.isinf(freedom):
        return float(sum(special.ndtri(end) for end in ends))
    return float(sum(special.stdtrit(freedom, end) for end in ends))


def compare_means(parts: Sequence[Part], width: float) -> Paired:
    """The difference of a mean, of a mean of means, or of a group's; ``width`` is that
    of its range.

    Right or wrong with a trial a cluster: McNemar's exact test. Otherwise the signs of
    clusters are flipped, every way there is, below ``FEW_CLUSTERS``; from there a
    paired t. The interval is Student's, with the standard error of clusters (Cameron
    and Miller 2015), over strata with the degrees of freedom of Satterthwaite.
    """
    a, b = (
        math.fsum(part.share * found for part, found in zip(parts, side, strict=True))
        for side in _means(parts)
    )
    added, apart, strata = _by_cluster(parts)
    variances, sizes = [], []
    for stratum in range(int(strata.max()) + 1):
        own = apart[strata == stratum]
        sizes.append(len(own))
        variances.append(
            len(own) / (len(own) - 1) * float(own @ own) if len(own) > 1 else math.nan
        )
    total = math.fsum(variances)
    clusters = len(added)
    changed = int(
        np.count_nonzero(np.abs(added) > _TIES * np.abs(added).max(initial=0.0))
    )
    stderr = None if math.isnan(total) else math.sqrt(total)
    if stderr is not None and stderr <= _TIES * max(abs(a), abs(b), 1e-300):
        stderr = 0.0
    freedom = float(sum(sizes) - len(sizes))
    if stderr and len(sizes) > 1:
        freedom = total**2 / math.fsum(
            v**2 / (n - 1) for v, n in zip(variances, sizes, strict=True)
        )
    method = _method(parts, clusters)
    if method == "mcnemar":
        p = mcnemar(int(np.count_nonzero(added > 0)), int(np.count_nonzero(added < 0)))
    elif method == "sign_flip":
        p = sign_flip(added)
    elif stderr:
        p = float(2 * special.stdtr(freedom, -abs(b - a) / stderr))
    else:
        p = 2.0 ** max(1 - changed, -1000) if changed else 1.0
    return Paired(
        a=a,
        b=b,
        stderr=stderr,
        ci95=_interval(b - a, stderr, freedom, clusters, width),
        p=p,
        method=method,
        clusters=clusters,
        changed=changed,
        freedom=freedom,
        width=width,
    )


def _method(parts: Sequence[Part], clusters: int) -> Method:
    first = parts[0]
    if (
        len(parts) == 1
        and clusters == len(first.a)
        and (first.weights_a == 1).all()
        and (first.weights_b == 1).all()
    ):
        both = np.concatenate((first.a, first.b))
        if ((both == 0) | (both == 1)).all():
            return "mcnemar"
    return "sign_flip" if clusters < FEW_CLUSTERS else "t"


def _means(parts: Sequence[Part]) -> tuple[list[float], list[float]]:
    return (
        [float(part.a @ part.weights_a / part.weights_a.sum()) for part in parts],
        [float(part.b @ part.weights_b / part.weights_b.sum()) for part in parts],
    )


def _by_cluster(parts: Sequence[Part]) -> tuple[Values, Values, Ints]:
    """What each cluster adds to the difference, how far it lies from its mean, and its
    stratum."""
    strata = {
        name: at
        for at, name in enumerate(dict.fromkeys(part.stratum for part in parts))
    }
    places: dict[tuple[int, str], int] = {}
    pieces = []
    for part, a, b in zip(parts, *_means(parts), strict=True):
        stratum = strata[part.stratum]
        at = np.array(
            [
                places.setdefault((stratum, cluster), len(places))
                for cluster in part.clusters
            ]
        )
        sum_a, sum_b = part.weights_a.sum(), part.weights_b.sum()
        added = part.share * (
            part.b * part.weights_b / sum_b - part.a * part.weights_a / sum_a
        )
        apart = part.share * (
            (part.b - b) * part.weights_b / sum_b
            - (part.a - a) * part.weights_a / sum_a
        )
        pieces.append((at, added, apart))
    count = len(places)
    added, apart = (
        np.sum([np.bincount(piece[0], piece[which], count) for piece in pieces], axis=0)
        for which in (1, 2)
    )
    return added, apart, np.array([stratum for stratum, _ in places])


def _interval(
    difference: float, stderr: float | None, freedom: float, clusters: int, width: float
) -> Interval | None:
    """The 95 % interval, cut at what the metric's range allows.

    Where all clusters differ alike, others may not: each side then reaches as far as a
    share of clusters that was not seen among so many (0.05 ** (1 / clusters)) could
    move it, which a metric without a finite range does not tell.
    """
    if stderr is None or clusters < 2:
        return None
    if stderr > 0:
        half = float(special.stdtrit(freedom, UPPER)) * stderr
        return (max(difference - half, -width), min(difference + half, width))
    if math.isinf(width):
        return None
    unseen = 1 - 0.05 ** (1 / clusters)
    return (
        difference - unseen * (difference + width),
        difference + unseen * (width - difference),
    )


def mcnemar(won: int, lost: int) -> float:
    """The exact test of McNemar: two-sided, of the pairs of which one is right."""
    return (
        1.0
        if won == lost
        else min(1.0, 2 * float(special.bdtr(min(won, lost), won + lost, 0.5)))
    )


def sign_flip(added: Values) -> float:
    """The share of all ways to flip the signs of clusters that lie as far from 0 as
    they do.

    The sums of both halves are made and matched, so that all 2 ** 29 ways of 29
    clusters take a moment.
    """
    seen = abs(float(added.sum())) * (1 - _TIES)
    first, second = (_signed_sums(half) for half in np.array_split(added, 2))
    second.sort()
    above = len(second) - np.searchsorted(second, seen - first, side="left")
    below = np.searchsorted(second, -seen - first, side="right") if seen else 0
    return min(1.0, float((above + below).sum()) / (len(first) * len(second)))


def _signed_sums(values: Values) -> Values:
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate((sums + value, sums - value))
    return sums


def _share_seen(clusters: int, needed: int, power: float) -> float | None:
    """The share of clusters that have to change so that ``needed`` of them do with this
    power."""
    return (
        float(special.betaincinv(needed, clusters - needed + 1, power))
        if needed <= clusters
        else None
    )


def _mcnemar_seen(
    pairs: int, discordant: float, alpha: float, power: float
) -> float | None:
    """The smallest difference of shares that McNemar's test sees, at the share of
    discordant pairs that was seen. A larger difference than that share is one of pairs
    that all differ in one direction."""
    if _mcnemar_power(pairs, discordant, 1.0, alpha) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (
            (low, middle)
            if _mcnemar_power(pairs, discordant, middle, alpha) >= power
            else (middle, high)
        )
    return high


def _mcnemar_power(
    pairs: int, discordant: float, difference: float, alpha: float
) -> float:
    share = max(discordant, difference)
    if pairs * share > _EXACT_DISCORDANT:
        stderr = math.sqrt((share - difference**2) / pairs) or 1e-300
        return float(
            special.ndtr(
                (difference - special.ndtri(1 - alpha / 2) * math.sqrt(share / pairs))
                / stderr
            )
        )
    counts = np.arange(pairs + 1)
    counts = counts[: min(len(counts), 4 * _EXACT_DISCORDANT)]
    chance = np.diff(special.bdtr(counts, pairs, share), prepend=0.0)
    # The most of the rarer kind with which a count of discordant pairs is still beyond
    # chance; below 0: none.
    fewest = np.ceil(special.bdtrik(alpha / 2, counts, 0.5)) if len(counts) else counts
    fewest = np.nan_to_num(fewest, nan=0.0)
    fewest = np.where(special.bdtr(fewest, counts, 0.5) > alpha / 2, fewest - 1, fewest)
    lost = (share - difference) / 2 / share
    seen = np.where(fewest >= 0, special.bdtr(np.maximum(fewest, 0), counts, lost), 0.0)
    other = np.where(
        fewest >= 0, special.bdtr(np.maximum(fewest, 0), counts, 1 - lost), 0.0
    )
    return float(chance @ (seen + other))


def compare_by_draws(
    a: Scores,
    b: Scores,
    aggregator: Aggregator,
    options: Mapping[str, Any],
    width: float,
) -> Paired | None:
    """The difference of any other number by a bootstrap of clusters, each draw one for
    both runs.

    ``a`` and ``b`` are the paired rows, in one order. None where a number has no value.
    """
    values = [aggregator(one, **options).value for one in (a, b)]
    if values[0] is None or values[1] is None:
        return None
    clusters = list(a.by_cluster())
    first, second = (
        drawn_statistic(one, aggregator, options, clusters) for one in (a, b)
    )
    iterations = BOOTSTRAP_ITERS
    if aggregator not in (mean, weighted_mean, median):
        iterations = fewer(iterations, 2 * len(a))
    draws = distribution(
        lambda drawn: second(drawn) - first(drawn), len(clusters), iterations
    )
    difference = values[1] - values[0]
    known = len(clusters) > 1 and bool(np.isfinite(draws).all())
    stderr = float(draws.std(ddof=1)) if known else None
    interval = None
    if known:
        low, high = map(float, np.quantile(draws, (1 - UPPER, UPPER)))
        alike = low == high
        interval = (
            _interval(difference, 0.0, 0, len(clusters), width)
            if alike
            else (low, high)
        )
    tails = [
        (1 + np.count_nonzero(side)) / (len(draws) + 1)
        for side in (draws <= 0, draws >= 0)
    ]
    p = min(1.0, 2 * float(min(tails))) if known else None
    return Paired(
        a=values[0],
        b=values[1],
        stderr=stderr,
        ci95=interval,
        p=p,
        method="bootstrap",
        clusters=len(clusters),
        changed=len(clusters),
        freedom=math.inf,
        width=width,
    )


def corrected(values: Sequence[float], correction: Correction) -> list[float]:
    """p values for several tests: by Holm (1979), or by Benjamini and Hochberg
    (1995)."""
    p = np.asarray(values, dtype=float)
    count, order = len(p), np.argsort(p, kind="stable")
    if correction == "none" or not count:
        return [float(value) for value in p]
    ranks = np.arange(count)
    if correction == "holm":
        found = np.maximum.accumulate(p[order] * (count - ranks))
    else:
        found = np.minimum.accumulate((p[order] * count / (ranks + 1))[::-1])[::-1]
    back = np.empty(count)
    back[order] = np.minimum(found, 1.0)
    return [float(value) for value in back]


def levels(
    values: Sequence[float], correction: Correction, alpha: float
) -> list[float]:
    """The p below which each of several tests is a find, as the others turned out.

    By Holm that is ``alpha`` over the tests that are not found yet when its turn comes;
    by Benjamini and Hochberg the share of ``alpha`` that one find more than there are
    would have.
    """
    count = len(values)
    order = sorted(range(count), key=values.__getitem__)
    found = sum(p < alpha for p in corrected(values, correction))
    if correction == "none":
        return [alpha] * count
    if correction == "bh":
        own = alpha * min(count, found + 1) / count if count else alpha
        return [own] * count
    turns = {place: min(turn, found) for turn, place in enumerate(order)}
    return [alpha / max(1, count - turns[place]) for place in range(count)]
