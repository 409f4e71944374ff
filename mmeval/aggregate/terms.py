"""The terms of a number that is a weighted sum of means, and their clusters.

A plain mean is one term. The levels of a macro mean, the members of a group and the
parts of a combined number are also terms. Terms over the same clusters are not
independent, so the influences of a cluster on all of these terms are added up first.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mmeval.aggregate.leverage import (
    WHOLE,
    adjusted,
    are_equal,
    connected,
    effective_clusters,
    freedom,
)
from mmeval.aggregate.scores import ClusterSums, Scores, cluster_sums
from mmeval.aggregate.statistics import Interval
from mmeval.records.evidence import Term

FEW = 10
"""If fewer clusters are off an end of the range, the variance is not reliable, because
rare errors may be missing from the samples."""
_TIES = 1e-9
"""Values that differ by less than this share of the range are equal. Their last digits
depend on the order in which they are added."""


class Component(NamedTuple):
    """A group of terms that share clusters.

    Components are independent of each other. ``value`` and ``range`` are the value and
    the range that the terms contribute to the number. ``influences`` contains the
    influence of each cluster on the number. It is None if only the variance is known.
    """

    value: float
    range: Interval
    variance: float
    influences: Sequence[float] | None
    freedom: float
    effective: float
    has_few: bool
    share: float = 1.0


def term_of_residuals(
    residuals: Sequence[float], sums: ClusterSums, *, value: float, range: Interval
) -> Term:
    """Returns the term of the mean ``value`` with the residuals of its clusters.

    The residual of a cluster is the amount by which it moves the mean. It is the sum of
    the cluster's values minus its trials times the mean, divided by all trials.
    """
    clusters = len(sums.counts)
    if are_equal(sums.counts):
        sizes = array("d", [1 / clusters]) * clusters
        largest = sizes[0]
    else:
        trials = math.fsum(sums.counts)
        sizes = array("d", [count / trials for count in sums.counts])
        largest = max(sizes)
    influences = adjusted(residuals, sizes)
    variance = _squares(influences) if largest < WHOLE else None
    few = _has_few(sums, range)
    return Term(value, range, sums.clusters, influences, variance, sizes, few)


def term_of_mean(scores: Scores, *, weighted: bool = False) -> Term | None:
    """Returns the term of a plain or weighted mean, or None if no trial has a value."""
    return term_of_sums(cluster_sums(scores, weighted=weighted), scores.range)


def term_of_sums(sums: ClusterSums, range: Interval) -> Term | None:
    """Returns the term of a mean from its clusters' sums. Returns None without
    trials."""
    if not sums.counts:
        return None
    if are_equal(sums.counts):
        n = sums.counts[0] * len(sums.counts)
    else:
        n = math.fsum(sums.counts)
    if not n:
        return None
    value = math.fsum(sums.totals) / n
    if are_equal(sums.counts):
        expected = sums.counts[0] * value
        residuals = [(total - expected) / n for total in sums.totals]
    else:
        pairs = zip(sums.totals, sums.counts, strict=True)
        residuals = [(total - count * value) / n for total, count in pairs]
    return term_of_residuals(residuals, sums, value=value, range=range)


def _has_few(sums: ClusterSums, range: Interval) -> bool:
    """Returns True if few clusters are off an end of the range.

    Few means fewer than ``FEW`` clusters above the low end, or below the high end.
    """
    low, high = range
    if not (math.isfinite(low) and math.isfinite(high)):
        return True
    least = _TIES * (high - low)
    above = below = 0
    for total, count in zip(sums.totals, sums.counts, strict=True):
        # A score without a value (NaN) may be anywhere, so it counts on both sides.
        if above < FEW and not total - low * count <= least * count:
            above += 1
        if below < FEW and not high * count - total <= least * count:
            below += 1
        if above >= FEW and below >= FEW:
            return False
    return True


def scaled(terms: Iterable[Term], share: float) -> tuple[Term, ...]:
    """Returns the terms of a number multiplied by ``share``."""
    return tuple(term._replace(share=share * term.share) for term in terms)


def terms_of(
    members: Sequence[tuple[Term, ...] | None], shares: Sequence[float]
) -> tuple[Term, ...] | None:
    """Returns the terms of a weighted mean of numbers, or None if a number has none."""
    all_terms: list[Term] = []
    for terms, share in zip(members, shares, strict=True):
        if terms is None:
            return None
        all_terms += scaled(terms, share)
    return tuple(all_terms)


def components(terms: Sequence[Term]) -> list[Component]:
    """Groups terms that have a cluster in common into components."""
    groups = connected([term.clusters for term in terms])
    return [_component([terms[place] for place in group]) for group in groups]


def _value_and_range(terms: Iterable[Term]) -> tuple[float, Interval]:
    """Returns the value and the range of a sum of terms."""
    values, lows, highs = [], [], []
    for term in terms:
        values.append(term.share * term.value)
        lows.append(term.share * term.range[0])
        highs.append(term.share * term.range[1])
    return math.fsum(values), (math.fsum(lows), math.fsum(highs))


def _component(terms: Sequence[Term]) -> Component:
    share = math.fsum(term.share for term in terms)
    if len(terms) == 1:
        (term,) = terms
        sizes, variance = term.sizes, share * share * (term.variance or 0.0)
        influences: Sequence[float] = term.influences
        if share != 1:
            influences = [share * influence for influence in influences]
    else:
        sizes = _by_cluster(terms, [term.sizes for term in terms])
        sizes = [size / share for size in sizes]
        influences = _by_cluster(terms, [term.influences for term in terms])
        variance = _squares(influences)
    value, range = _value_and_range(terms)
    return Component(
        value=value,
        range=range,
        variance=variance,
        influences=influences,
        freedom=freedom(sizes),
        effective=effective_clusters(sizes),
        has_few=any(term.has_few for term in terms),
        share=share,
    )


def component_of(
    stderr: float,
    value: float,
    terms: Sequence[Term],
) -> Component:
    """Returns a component for a number of which only the standard error is known.

    The clusters' influences on the number are unknown. ``terms`` are the terms of means
    over the same trials.
    """
    means = scaled(terms, 1 / len(terms))
    sizes = _by_cluster(means, [term.sizes for term in means])
    _, range = _value_and_range(means)
    return Component(
        value=value,
        range=range,
        variance=stderr**2,
        influences=None,
        freedom=freedom(sizes),
        effective=effective_clusters(sizes),
        has_few=any(term.has_few for term in means),
    )


def _by_cluster(
    terms: Sequence[Term], columns: Sequence[Sequence[float]]
) -> list[float]:
    """Sums columns by cluster, each column weighted by its term's share."""
    sums: dict[str, float] = {}
    for term, column in zip(terms, columns, strict=True):
        for cluster, number in zip(term.clusters, column, strict=True):
            sums[cluster] = sums.get(cluster, 0.0) + term.share * number
    return list(sums.values())


def _squares(numbers: Sequence[float]) -> float:
    return math.fsum(map(operator.mul, numbers, numbers))
