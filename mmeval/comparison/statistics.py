"""Tests of a paired difference: what it is, how sure that is, what would have been
seen.

Trials of two runs are paired, and evidence is counted in clusters of pairs, as it is
for one run. A difference of means is a sum of what each cluster adds to it: the mean of
a task, a mean of several means and a group differ in how much that is. The methods are
in ``mmeval.comparison.paired``; here one is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from mmeval.aggregate.aggregators import median
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.statistics import Interval
from mmeval.comparison.paired import power as seen
from mmeval.comparison.paired.contributions import (
    Contributions,
    PairedMean,
    contributions_of,
)
from mmeval.comparison.paired.difference_test import (
    CombinedTest,
    DifferenceTest,
    interval_of,
    two_sided,
)
from mmeval.comparison.paired.relabelled import resample_difference
from mmeval.comparison.paired.score_test import ExactTail, ScoreTest
from mmeval.comparison.paired.sign_flips import FEWEST_CLUSTERS, fewest_for, sign_flips
from mmeval.comparison.paired.student import Student, WithoutSkewness, skewness
from mmeval.comparison.paired.unseen_clusters import AlikeClusters, UnseenClusters

Method = Literal["score", "sign_flip", "t", "bootstrap"]
Correction = Literal["holm", "bh", "none"]

LEVEL = 0.05
"""That of the intervals that are printed: 95 %."""
MANY_CLUSTERS = 30.0
MANY_FREEDOM = 20.0
"""Effective clusters and degrees of freedom from which Student's t is as good as the
signs of clusters, and faster."""
_SKEW = 0.05
"""Skewness of a difference from which it moves an end of its interval."""
_FEW_CARRIERS = 6.0
_FEW_OF_ALL = 8.0
"""The spread rests on few clusters where it is on fewer than six, and on less than an
eighth of them."""
_FAR = 0.3
"""Clusters that all lie nearer to the whole than this share of the range say nothing of
rare ones that lie far. Where one lies that far, the spread is so large that a few more
like it move no end."""


@dataclass(frozen=True)
class PairedTest:
    """A difference ``b - a`` and its test.

    ``stderr`` and ``ci95`` are None where nothing is known of them; ``why`` is the
    reason of a missing interval. ``changed`` counts the clusters that differ at all,
    ``effective`` is how many equal clusters would tell as much. ``freedom`` are the
    degrees of freedom of the standard error, ``width`` is that of the metric's range
    (infinite: unknown). ``growth`` is what a unit of a true difference adds to the
    squared error. ``are_all_near``: clusters that lie far may have been missed, which
    widens the interval.

    p and interval are made of the ``evidence``, None where nothing is known. A gate
    also asks the ``caution``, and before it takes something as shown the ``unseen``;
    None where there is no more to ask.
    """

    a: float
    b: float
    stderr: float | None
    p: float | None
    method: Method
    clusters: int
    changed: int
    freedom: float
    width: float
    effective: float
    why: str = ""
    growth: float = field(default=0.0, repr=False)
    are_all_near: bool = field(default=False, repr=False)
    evidence: DifferenceTest | None = field(default=None, repr=False, compare=False)
    caution: DifferenceTest | None = field(default=None, repr=False, compare=False)
    unseen: DifferenceTest | None = field(default=None, repr=False, compare=False)

    @property
    def difference(self) -> float:
        return self.b - self.a

    @cached_property
    def ci95(self) -> Interval | None:
        return self.interval(LEVEL)

    def interval(self, alpha: float) -> Interval | None:
        """The interval that misses the true difference with probability ``alpha``.
        None where there is none: ``why`` says the reason."""
        if self.evidence is None or self.why:
            return None
        return interval_of(self.evidence, self.difference, self.width, alpha)

    def p_of(self, limit: float) -> float:
        """The p of a true difference of ``limit``: below 0.05 exactly where the 95 %
        interval leaves it out. 1 where nothing is known."""
        return 1.0 if self.evidence is None else two_sided(self.evidence, limit)

    def p_beyond(self, limit: float, *, above: bool) -> float:
        """The p by which a gate fails a difference beyond ``limit``, where the true one
        may be ``above`` it. It is that of the interval; of right or wrong scores also
        that of the exact tail, as the normal one is too sure of rare losses."""
        p = self.p_of(limit)
        if self.method == "score" and limit:
            p = max(p, 2 * self.one_sided_p(limit, above=above))
        return min(1.0, p)

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        """The one-sided p against a true difference of ``limit`` or beyond it on that
        side. Small: the true difference is not ``above`` the limit (or not below
        it)."""
        return self._largest_p((self.evidence, self.caution), limit, above)

    def one_sided_p_with_unseen(self, limit: float, *, above: bool) -> float:
        """As ``one_sided_p``, also against rare differences that no cluster shows: as
        large as the metric's range allows, and rare enough to be missed."""
        members = (self.evidence, self.caution, self.unseen)
        return self._largest_p(members, limit, above)

    def _largest_p(
        self, members: Sequence[DifferenceTest | None], limit: float, above: bool
    ) -> float:
        if self.evidence is None:
            return 1.0
        return max(
            member.one_sided_p(limit, above=above)
            for member in members
            if member is not None
        )

    def equivalence_p(self, margin: float) -> float:
        """The p of two one-sided tests: small where the true difference lies within
        the ``margin`` on both sides. Source: Schuirmann, A comparison of the two
        one-sided tests procedure and the power approach, 1987."""
        return max(
            self.one_sided_p_with_unseen(margin, above=True),
            self.one_sided_p_with_unseen(-margin, above=False),
        )

    @property
    def least_p(self) -> float:
        """The p of clusters that all differ in one direction: no result has a smaller
        one."""
        if self.method == "score":
            return two_sided(ScoreTest(self.clusters, 0, self.clusters))
        return 2.0 ** (1 - self.clusters)

    def smallest_seen(self, alpha: float, power: float) -> float | None:
        """The smallest true difference that the test calls one at ``alpha``, with
        probability ``power``. None: none at all, or it is not known."""
        if self.evidence is None:
            return None
        if self.method == "score":
            share_differing = self.changed / self.clusters
            return seen.smallest_share(self.clusters, share_differing, alpha, power)

        needed = fewest_for(alpha)
        if self.method == "sign_flip" and self.clusters < needed:
            return None
        if self._tells_no_spread(needed):
            # of unequal clusters fewer count, but as many as are needed are enough
            clusters = min(self.clusters, max(self.effective, needed))
            share = seen.smallest_unseen(clusters, needed, power)
            smallest = math.inf if share is None else share * self.width
        elif self.stderr:
            # the signs need no degrees of freedom, but they come in steps, and their
            # interval is widened by skewness
            freedom, steps = self.freedom, 1.0
            if self.method == "sign_flip":
                freedom, steps = self.clusters - 1.0, 1 + 1 / self.clusters
            reach = steps * seen.reach_of(self.freedom, freedom, alpha, power)
            smallest = seen.smallest_difference(reach, self.stderr, self.growth)
            if self.are_all_near:
                beyond = seen.smallest_beyond_unseen(
                    self.effective, self.width, self.stderr, alpha, power
                )
                smallest = max(smallest, beyond)
        else:
            smallest = math.inf
        return smallest if smallest <= self.width and smallest < math.inf else None

    def clusters_needed(
        self, difference: float, alpha: float, power: float
    ) -> int | None:
        """How many clusters such as these it takes to see a ``difference``; None where
        that is not known: clusters that are all alike tell of no spread."""
        if not self.stderr:
            return None
        needed = fewest_for(alpha)
        if self.method == "score":
            pairs = seen.pairs_needed(
                self.clusters, self.changed, difference, alpha, power
            )
            return None if pairs is None else max(pairs, FEWEST_CLUSTERS)
        if self._tells_no_spread(needed):
            share = min(1.0, abs(difference) / self.width)
            return seen.clusters_for_unseen(share, needed, power)

        count = seen.clusters_needed(
            self.clusters,
            self.stderr,
            self.growth,
            self.freedom,
            difference,
            alpha=alpha,
            power=power,
        )
        if self.are_all_near:
            beyond = seen.clusters_beyond_unseen(
                self.clusters,
                self.effective,
                self.width,
                self.stderr,
                difference,
                alpha=alpha,
                power=power,
            )
            count = max(count, beyond)
        # fewer find nothing, however little they vary
        return max(count, needed)

    def _tells_no_spread(self, needed: int) -> bool:
        """Whether so few clusters differ that the standard error does not tell what a
        true difference is: ``needed`` of them would have to."""
        if self.method == "bootstrap":
            return False
        return not self.stderr or self.changed < needed


def compare_means(parts: Sequence[PairedMean], width: float) -> PairedTest:
    """The difference of a mean, of a mean of means, or of a group's; ``width`` is that
    of its range.

    Right or wrong with a trial a cluster: Tango's score test. Otherwise the signs of
    clusters are flipped, or, of many clusters of like size, a paired t. Either is
    widened where the differences are skew, rest on few clusters, or are all small
    beside the range.
    """
    means_a, means_b = [], []
    for part in parts:
        mean_a = float(part.a @ part.weights_a / part.weights_a.sum())
        mean_b = float(part.b @ part.weights_b / part.weights_b.sum())
        means_a.append(part.share * mean_a)
        means_b.append(part.share * mean_b)
    a, b = math.fsum(means_a), math.fsum(means_b)
    found = contributions_of(parts)
    pairs = len(found.added)
    if pairs >= FEWEST_CLUSTERS and _is_right_or_wrong(parts, found):
        won = int(np.count_nonzero(found.added > 0))
        lost = int(np.count_nonzero(found.added < 0))
        caution = ExactTail(won, lost, pairs)
        choice = _Choice(ScoreTest(won, lost, pairs), "score", caution=caution)
    elif found.are_alike:
        choice = _test_of_alike(found, b - a, width)
    else:
        choice = _test_of_spread(found, b - a, width)

    unseen = None
    if math.isfinite(width) and choice.method != "score":
        unseen = UnseenClusters(b - a, width, found.effective)
    return PairedTest(
        a=a,
        b=b,
        stderr=_stderr(found),
        p=two_sided(choice.evidence),
        method=choice.method,
        clusters=pairs,
        changed=found.changed,
        freedom=found.freedom,
        width=width,
        effective=found.effective,
        why=choice.why,
        growth=found.growth,
        are_all_near=choice.are_all_near,
        evidence=choice.evidence,
        caution=choice.caution,
        unseen=unseen,
    )


class _Choice(NamedTuple):
    """A test, what a gate asks besides, and why it has no interval."""

    evidence: DifferenceTest
    method: Method
    why: str = ""
    caution: DifferenceTest | None = None
    are_all_near: bool = False


def _stderr(found: Contributions) -> float | None:
    if found.influence is None:
        return None
    return 0.0 if found.are_alike else math.sqrt(found.influence @ found.influence)


def _test_of_alike(
    found: Contributions,
    difference: float,
    width: float,
) -> _Choice:
    """The test of clusters that all differ by the same: others may have been missed."""
    clusters = len(found.added)
    flips = sign_flips(found.added, found.shares)
    why = "" if _is_for_student(found) else _too_few(clusters)
    if math.isinf(width):
        why = why or "all clusters differ alike, and the metric has no finite range"
        return _Choice(flips, "sign_flip", why)

    unseen = UnseenClusters(difference, width, found.effective)
    alike = AlikeClusters(unseen)
    if difference:
        return _Choice(CombinedTest((alike, flips)), "sign_flip", why, unseen)
    # one cluster says nothing; of a few that do not differ, others are bounded
    return _Choice(alike, "sign_flip", why if clusters == 1 else "", unseen)


def _test_of_spread(
    found: Contributions,
    difference: float,
    width: float,
) -> _Choice:
    """The test of clusters that differ by unlike numbers."""
    clusters = len(found.added)
    stderr = _stderr(found)
    why = ""
    freedom = found.freedom
    members: list[DifferenceTest] = []
    if stderr and _is_for_student(found):
        method: Method = "t"
        members.append(Student(difference, stderr, freedom))
    else:
        method = "sign_flip"
        why = _too_few(clusters)
        freedom = clusters - 1.0
        members.append(sign_flips(found.added, found.shares))

    apart = found.influence
    if apart is None:
        apart = found.added - difference * found.shares
    skew = skewness(apart)
    if abs(skew) > _SKEW and clusters > 1:
        error = math.sqrt(float(apart @ apart))
        members.append(WithoutSkewness(difference, error, freedom, skew))

    carriers = found.carriers
    if carriers < _FEW_CARRIERS and carriers < clusters / _FEW_OF_ALL:
        if math.isinf(width):
            why = why or "too few clusters differ, and the metric has no finite range"
        else:
            # What the clusters that won and lost add, as whole wins and losses: of
            # all differences with these sums, those vary most.
            pairs = found.effective
            won = float(np.maximum(found.added, 0).sum()) * pairs / width
            lost = float(np.maximum(-found.added, 0).sum()) * pairs / width
            members.append(ScoreTest(won, lost, pairs, unit=width))

    are_all_near = math.isfinite(width) and found.farthest < _FAR * width
    if are_all_near:
        members.append(
            AlikeClusters(UnseenClusters(difference, width, found.effective))
        )
    return _Choice(CombinedTest(tuple(members)), method, why, are_all_near=are_all_near)


def _is_right_or_wrong(parts: Sequence[PairedMean], found: Contributions) -> bool:
    """Whether all scores are 0 or 1, with one trial a cluster."""
    first = parts[0]
    if len(parts) > 1 or len(found.added) != len(first.a):
        return False
    scores = np.concatenate((first.a, first.b))
    weights = np.concatenate((first.weights_a, first.weights_b))
    is_binary = np.isin(scores, (0, 1)).all()
    return bool(is_binary and (weights == 1).all())


def _is_for_student(found: Contributions) -> bool:
    return found.effective >= MANY_CLUSTERS and found.freedom >= MANY_FREEDOM


def _too_few(clusters: int) -> str:
    if clusters >= FEWEST_CLUSTERS:
        return ""
    if clusters == 1:
        return "too few clusters: one says nothing of others"
    return "too few clusters: fewer than six cannot differ at 5 %"


def compare_by_draws(
    a: Scores,
    b: Scores,
    aggregator: Aggregator,
    options: Mapping[str, Any],
    width: float,
) -> PairedTest | None:
    """The difference of any other number: p by swapping the labels of both runs in
    clusters, and a bootstrap of clusters, each draw one for both runs.

    ``a`` and ``b`` are the paired rows, in one order. None where a number has no value.
    """
    value_a = aggregator(a, **options).value
    value_b = aggregator(b, **options).value
    if value_a is None or value_b is None:
        return None
    sizes = [len(places) for places in a.by_cluster().values()]
    clusters = len(sizes)
    effective = sum(sizes) ** 2 / sum(size * size for size in sizes)
    why = _too_few(clusters)
    found = None if why else resample_difference(a, b, aggregator, options)
    if not why and found is None:
        why = "it has no value in some draws of clusters"
    difference = value_b - value_a
    evidence: DifferenceTest | None = None
    unseen: DifferenceTest | None = None
    stderr = p = None
    if found is not None:
        evidence = found
        stderr = found.stderr
        missed = UnseenClusters(difference, width, effective)
        if not stderr and not math.isinf(width):
            evidence = CombinedTest((found, AlikeClusters(missed)))
        if aggregator is not median:
            # rare losses do not move a median, but most other numbers
            unseen = missed
        p = two_sided(evidence)
        if not stderr and math.isinf(width):
            why = "all draws are alike, and the metric has no finite range"
    return PairedTest(
        a=value_a,
        b=value_b,
        stderr=stderr,
        p=p,
        method="bootstrap",
        clusters=clusters,
        changed=clusters,
        freedom=math.inf,
        width=width,
        effective=effective,
        why=why,
        evidence=evidence,
        unseen=unseen,
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
        scaled = p[order] * count / (ranks + 1)
        found = np.minimum.accumulate(scaled[::-1])[::-1]
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
