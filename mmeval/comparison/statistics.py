"""Tests of a paired difference: its value, its uncertainty and its detectable size.

Trials of two runs are paired. Evidence is counted in clusters of pairs, as it is
counted in clusters of trials for one run. A difference of means is the sum of the
contributions of its clusters. Task means, means of means and groups differ only in how
these contributions are computed. The tests are in ``mmeval.comparison.paired``. This
module chooses among them.
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
from mmeval.comparison.paired import power as powers
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
"""The level of the printed 95 % intervals."""
MANY_CLUSTERS = 30.0
MANY_FREEDOM = 20.0
"""If both effective clusters and degrees of freedom reach this number, Student's t is
as good as sign flips, and faster."""
_SKEW = 0.05
"""The interval of a difference is corrected if its skewness is above this."""
_FEW_CARRIERS = 6.0
_FEW_OF_ALL = 8.0
"""The spread is due to few clusters if fewer than six clusters cause it and they are
less than an eighth of all clusters."""
_FAR = 0.3
"""If all clusters are closer to the overall difference than this share of the range,
rare distant clusters may be missing. If a cluster is farther away, the spread is so
large that a few more distant clusters do not move the interval."""


@dataclass(frozen=True)
class PairedTest:
    """A difference ``b - a`` and its test.

    ``stderr`` and ``ci95`` are None if unknown. ``why`` is the reason for a missing
    interval. ``changed`` counts the clusters that differ. ``effective`` is the number
    of equal clusters that would contain as much information. ``freedom`` is the number
    of degrees of freedom of the standard error. ``width`` is the width of the metric's
    range (infinite if it is unknown). ``growth`` is the amount that a true difference
    of 1 adds to the squared error. ``are_all_near`` is True if distant clusters may be
    missing, which widens the interval.

    p and interval come from ``evidence``, which is None if nothing is known. A gate
    also uses the test ``caution``. To show that a difference is within the margin, the
    gate also uses the test ``unseen``. Both are None if no further test is needed.
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
        """Returns the interval that misses the true difference with probability
        ``alpha``. Returns None if there is no interval. ``why`` is then the reason."""
        if self.evidence is None or self.why:
            return None
        return interval_of(self.evidence, self.difference, self.width, alpha)

    def p_of(self, limit: float) -> float:
        """Returns the p of a true difference of ``limit``, or 1 if nothing is known. It
        is below 0.05 exactly if the 95 % interval excludes the limit."""
        return 1.0 if self.evidence is None else two_sided(self.evidence, limit)

    def p_beyond(self, limit: float, *, above: bool) -> float:
        """Returns the p that a gate uses for a difference beyond ``limit``. If the p is
        small, the true difference is not ``above`` the limit (or not below it). The p
        is the same as for the interval. For scores that are right or wrong it is at
        least the p of the exact tail, because the normal distribution underestimates
        rare losses."""
        p = self.p_of(limit)
        if self.method == "score" and limit:
            p = max(p, 2 * self.one_sided_p(limit, above=above))
        return min(1.0, p)

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        """Returns the one-sided p of a hypothesis.

        The hypothesis is that the true difference is at ``limit`` or beyond it. If the
        p is small, the true difference is not ``above`` the limit (or not below it).
        """
        return self._largest_p((self.evidence, self.caution), limit, above)

    def one_sided_p_with_unseen(self, limit: float, *, above: bool) -> float:
        """Returns the same p as ``one_sided_p``, but from a test that also rules out
        rare differences that no cluster shows. Such differences may be as large as the
        metric's range allows, and rare enough to be missed."""
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
        """Returns the larger p of two one-sided tests. It is small if the true
        difference is within the ``margin`` on both sides. Source: Schuirmann, A
        comparison of the two one-sided tests procedure and the power approach, 1987."""
        return max(
            self.one_sided_p_with_unseen(margin, above=True),
            self.one_sided_p_with_unseen(-margin, above=False),
        )

    @property
    def least_p(self) -> float:
        """The smallest possible p, for clusters that all differ in one direction."""
        if self.method == "score":
            return two_sided(ScoreTest(self.clusters, 0, self.clusters))
        return 2.0 ** (1 - self.clusters)

    def smallest_seen(self, alpha: float, power: float) -> float | None:
        """Returns the smallest true difference that the test detects at level ``alpha``
        with probability ``power``. Returns None if the test detects no difference, or
        if this is unknown."""
        if self.evidence is None:
            return None
        if self.method == "score":
            share_differing = self.changed / self.clusters
            return powers.smallest_share(self.clusters, share_differing, alpha, power)

        needed = fewest_for(alpha)
        if self.method == "sign_flip" and self.clusters < needed:
            return None
        if self._tells_no_spread(needed):
            # unequal clusters count as fewer, but ``needed`` of them are enough
            clusters = min(self.clusters, max(self.effective, needed))
            share = powers.smallest_unseen(clusters, needed, power)
            smallest = math.inf if share is None else share * self.width
        elif self.stderr:
            # sign flips need no degrees of freedom, but their p is discrete, and their
            # interval is widened for skewness
            freedom, steps = self.freedom, 1.0
            if self.method == "sign_flip":
                freedom, steps = self.clusters - 1.0, 1 + 1 / self.clusters
            reach = steps * powers.reach_of(self.freedom, freedom, alpha, power)
            smallest = powers.smallest_difference(reach, self.stderr, self.growth)
            if self.are_all_near:
                beyond = powers.smallest_beyond_unseen(
                    self.effective, self.width, self.stderr, alpha, power
                )
                smallest = max(smallest, beyond)
        else:
            smallest = math.inf
        return smallest if smallest <= self.width and smallest < math.inf else None

    def clusters_needed(
        self, difference: float, alpha: float, power: float
    ) -> int | None:
        """Returns the number of similar clusters needed to detect a ``difference``.
        Returns None if the number is unknown because all clusters are alike."""
        if not self.stderr:
            return None
        needed = fewest_for(alpha)
        if self.method == "score":
            pairs = powers.pairs_needed(
                self.clusters, self.changed, difference, alpha, power
            )
            return None if pairs is None else max(pairs, FEWEST_CLUSTERS)
        if self._tells_no_spread(needed):
            share = min(1.0, abs(difference) / self.width)
            return powers.clusters_for_unseen(share, needed, power)

        count = powers.clusters_needed(
            self.clusters,
            self.stderr,
            self.growth,
            self.freedom,
            difference,
            alpha=alpha,
            power=power,
        )
        if self.are_all_near:
            beyond = powers.clusters_beyond_unseen(
                self.clusters,
                self.effective,
                self.width,
                self.stderr,
                difference,
                alpha=alpha,
                power=power,
            )
            count = max(count, beyond)
        # fewer clusters cannot reach the level, however little they vary
        return max(count, needed)

    def _tells_no_spread(self, needed: int) -> bool:
        """Returns whether fewer than ``needed`` clusters differ, so that the standard
        error is not reliable."""
        if self.method == "bootstrap":
            return False
        return not self.stderr or self.changed < needed


def compare_means(parts: Sequence[PairedMean], width: float) -> PairedTest:
    """Tests the difference of two means, means of means, or numbers of a group.
    ``width`` is the width of the metric's range.

    Scores that are right or wrong, with one trial in each cluster, are tested by
    Tango's score test. All other scores are tested by sign flips of clusters, or by a
    paired t test if there are many clusters of similar size. The interval is widened if
    the differences are skewed, are due to few clusters, or are all small relative to
    the range.
    """
    means_a, means_b = [], []
    for part in parts:
        mean_a = float(part.a @ part.weights_a / part.weights_a.sum())
        mean_b = float(part.b @ part.weights_b / part.weights_b.sum())
        means_a.append(part.share * mean_a)
        means_b.append(part.share * mean_b)
    a, b = math.fsum(means_a), math.fsum(means_b)
    contributions = contributions_of(parts)
    pairs = len(contributions.added)
    if pairs >= FEWEST_CLUSTERS and _is_right_or_wrong(parts, contributions):
        won = int(np.count_nonzero(contributions.added > 0))
        lost = int(np.count_nonzero(contributions.added < 0))
        # the score test alone would let a gate pass too many rare losses
        caution = ExactTail(won, lost, pairs)
        choice = _Choice(ScoreTest(won, lost, pairs), "score", caution=caution)
    elif contributions.are_alike:
        choice = _test_of_alike(contributions, b - a, width)
    else:
        choice = _test_of_spread(contributions, b - a, width)

    unseen = None
    if math.isfinite(width) and choice.method != "score":
        unseen = UnseenClusters(b - a, width, contributions.effective)
    return PairedTest(
        a=a,
        b=b,
        stderr=_stderr(contributions),
        p=two_sided(choice.evidence),
        method=choice.method,
        clusters=pairs,
        changed=contributions.changed,
        freedom=contributions.freedom,
        width=width,
        effective=contributions.effective,
        why=choice.why,
        growth=contributions.growth,
        are_all_near=choice.are_all_near,
        evidence=choice.evidence,
        caution=choice.caution,
        unseen=unseen,
    )


class _Choice(NamedTuple):
    """The chosen test, the further test that a gate uses, and the reason why the
    interval is missing."""

    evidence: DifferenceTest
    method: Method
    why: str = ""
    caution: DifferenceTest | None = None
    are_all_near: bool = False


def _stderr(contributions: Contributions) -> float | None:
    if contributions.influence is None:
        return None
    return (
        0.0
        if contributions.are_alike
        else math.sqrt(contributions.influence @ contributions.influence)
    )


def _test_of_alike(
    contributions: Contributions,
    difference: float,
    width: float,
) -> _Choice:
    """Returns the test of clusters that all differ by the same amount. Clusters with
    other differences may be missing from the sample."""
    clusters = len(contributions.added)
    flips = sign_flips(contributions.added, contributions.shares)
    why = "" if _is_for_student(contributions) else _too_few(clusters)
    if math.isinf(width):
        no_range = "the metric has no finite range"
        why = why or f"all clusters differ by the same amount, and {no_range}"
        return _Choice(flips, "sign_flip", why)

    unseen = UnseenClusters(difference, width, contributions.effective)
    alike = AlikeClusters(unseen)
    if difference:
        return _Choice(CombinedTest((alike, flips)), "sign_flip", why, unseen)
    # one cluster bounds nothing; a few clusters without a difference bound the others
    return _Choice(alike, "sign_flip", why if clusters == 1 else "", unseen)


def _test_of_spread(
    contributions: Contributions,
    difference: float,
    width: float,
) -> _Choice:
    """Returns the test of clusters that differ by different amounts."""
    clusters = len(contributions.added)
    stderr = _stderr(contributions)
    why = ""
    freedom = contributions.freedom
    members: list[DifferenceTest] = []
    if stderr and _is_for_student(contributions):
        method: Method = "t"
        members.append(Student(difference, stderr, freedom))
    else:
        method = "sign_flip"
        why = _too_few(clusters)
        freedom = clusters - 1.0
        members.append(sign_flips(contributions.added, contributions.shares))

    apart = contributions.influence
    if apart is None:
        apart = contributions.added - difference * contributions.shares
    skew = skewness(apart)
    if abs(skew) > _SKEW and clusters > 1:
        error = math.sqrt(float(apart @ apart))
        members.append(WithoutSkewness(difference, error, freedom, skew))

    carriers = contributions.carriers
    if carriers < _FEW_CARRIERS and carriers < clusters / _FEW_OF_ALL:
        if math.isinf(width):
            why = why or "too few clusters differ, and the metric has no finite range"
        else:
            # The sums of gains and losses are treated as whole wins and losses. Of all
            # differences with these sums, they have the largest variance.
            pairs = contributions.effective
            won = float(np.maximum(contributions.added, 0).sum()) * pairs / width
            lost = float(np.maximum(-contributions.added, 0).sum()) * pairs / width
            members.append(ScoreTest(won, lost, pairs, unit=width))

    are_all_near = math.isfinite(width) and contributions.farthest < _FAR * width
    if are_all_near:
        members.append(
            AlikeClusters(UnseenClusters(difference, width, contributions.effective))
        )
    return _Choice(CombinedTest(tuple(members)), method, why, are_all_near=are_all_near)


def _is_right_or_wrong(
    parts: Sequence[PairedMean], contributions: Contributions
) -> bool:
    """Returns whether all scores are 0 or 1, with one trial in each cluster."""
    first = parts[0]
    if len(parts) > 1 or len(contributions.added) != len(first.a):
        return False
    scores = np.concatenate((first.a, first.b))
    weights = np.concatenate((first.weights_a, first.weights_b))
    is_binary = np.isin(scores, (0, 1)).all()
    return bool(is_binary and (weights == 1).all())


def _is_for_student(contributions: Contributions) -> bool:
    return (
        contributions.effective >= MANY_CLUSTERS
        and contributions.freedom >= MANY_FREEDOM
    )


def _too_few(clusters: int) -> str:
    if clusters >= FEWEST_CLUSTERS:
        return ""
    if clusters == 1:
        return "too few clusters: one cluster says nothing about others"
    return "too few clusters: fewer than six cannot differ at the 5 % level"


def compare_by_draws(
    a: Scores,
    b: Scores,
    aggregator: Aggregator,
    options: Mapping[str, Any],
    width: float,
) -> PairedTest | None:
    """Tests the difference of a number that is not a mean. The p is computed by
    swapping the runs' labels in clusters. The interval is computed by a bootstrap of
    clusters. Both runs share each draw.

    ``a`` and ``b`` are the paired rows, in the same order. Returns None if one of the
    numbers has no value.
    """
    value_a = aggregator(a, **options).value
    value_b = aggregator(b, **options).value
    if value_a is None or value_b is None:
        return None
    sizes = [len(places) for places in a.by_cluster().values()]
    clusters = len(sizes)
    effective = sum(sizes) ** 2 / sum(size * size for size in sizes)
    why = _too_few(clusters)
    resampled = None if why else resample_difference(a, b, aggregator, options)
    if not why and resampled is None:
        why = "it has no value in some draws of clusters"
    difference = value_b - value_a
    evidence: DifferenceTest | None = None
    unseen: DifferenceTest | None = None
    stderr = p = None
    if resampled is not None:
        evidence = resampled
        stderr = resampled.stderr
        unseen_clusters = UnseenClusters(difference, width, effective)
        if not stderr and not math.isinf(width):
            evidence = CombinedTest((resampled, AlikeClusters(unseen_clusters)))
        if aggregator is not median:
            # rare losses move most numbers, but not a median
            unseen = unseen_clusters
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
    """Corrects the p of several tests, by Holm (1979) or Benjamini-Hochberg (1995)."""
    p = np.asarray(values, dtype=float)
    count, order = len(p), np.argsort(p, kind="stable")
    if correction == "none" or not count:
        return [float(value) for value in p]
    ranks = np.arange(count)
    if correction == "holm":
        adjusted = np.maximum.accumulate(p[order] * (count - ranks))
    else:
        scaled = p[order] * count / (ranks + 1)
        adjusted = np.minimum.accumulate(scaled[::-1])[::-1]
    back = np.empty(count)
    back[order] = np.minimum(adjusted, 1.0)
    return [float(value) for value in back]


def levels(
    values: Sequence[float], correction: Correction, alpha: float
) -> list[float]:
    """Returns the p below which each of several tests is significant, given the other
    tests.

    With Holm's correction, this level is ``alpha`` divided by the number of hypotheses
    that are not rejected before it. With Benjamini-Hochberg, it is ``alpha`` times the
    share of significant tests, counted with one more significant test.
    """
    count = len(values)
    order = sorted(range(count), key=values.__getitem__)
    significant = sum(p < alpha for p in corrected(values, correction))
    if correction == "none":
        return [alpha] * count
    if correction == "bh":
        level = alpha * min(count, significant + 1) / count if count else alpha
        return [level] * count
    turns = {place: min(turn, significant) for turn, place in enumerate(order)}
    return [alpha / max(1, count - turns[place]) for place in range(count)]
