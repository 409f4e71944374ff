"""Does the answer that is shown first win more often?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.comparison.paired.sign_flips import sign_flips
from mmeval.comparison.statistics import MANY_CLUSTERS
from mmeval.trust.correction.rated_trials import (
    Places,
    cluster_sums,
    in_order_of_appearance,
    sandwich,
)
from mmeval.trust.pairs.judgements import Judgement


@dataclass(frozen=True)
class FirstSide:
    """The share of decided comparisons that the player shown first has won.

    ``p`` is that of a fair share of one half. It is None if there is one cluster only.
    """

    share: float
    p: float | None

    def to_json(self) -> dict[str, Any]:
        """Returns all fields."""
        return asdict(self)


def first_side(judgements: Sequence[Judgement]) -> FirstSide | None:
    """Returns the share of the first side, or None if no decided comparison states
    which side was first.

    If each comparison is its own cluster, the p is McNemar's exact one. Otherwise it is
    that of sign flips over clusters, and from 30 clusters on Student's.
    """
    decided = [each for each in judgements if each.winner and each.first]
    if not decided:
        return None
    is_first = np.array([each.winner == each.first for each in decided])
    share = float(is_first.mean())
    clusters = in_order_of_appearance([each.cluster for each in decided])
    cluster_count = int(clusters.max()) + 1
    if cluster_count == len(decided):
        return FirstSide(share, _binomial_p(int(is_first.sum()), len(decided)))
    signs = np.where(is_first, 1.0, -1.0)
    return FirstSide(share, _clustered_p(signs, clusters, cluster_count))


def _binomial_p(first: int, count: int) -> float:
    from scipy import stats

    return float(stats.binomtest(first, count).pvalue)


def _clustered_p(signs: Values, clusters: Places, count: int) -> float | None:
    from scipy import special

    if count < 2:
        return None
    mean = float(signs.mean())
    if count < MANY_CLUSTERS:
        added = cluster_sums(signs / len(signs), clusters)
        shares = np.bincount(clusters) / len(signs)
        flips = sign_flips(added, shares)
        one_sided = min(
            flips.one_sided_p(0.0, above=True), flips.one_sided_p(0.0, above=False)
        )
        return min(1.0, 2 * one_sided)
    of_clusters = cluster_sums((signs - mean) / len(signs), clusters)
    stderr = math.sqrt(sandwich(of_clusters, count))
    if stderr == 0:
        return 1.0 if mean == 0 else 0.0
    return float(2 * special.stdtr(count - 1, -abs(mean) / stderr))
