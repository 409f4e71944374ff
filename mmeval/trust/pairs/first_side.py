"""Does the answer that is shown first win more often?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from mmeval.trust.correction.mean import p_of_zero
from mmeval.trust.correction.rated_trials import in_order_of_appearance
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
        return FirstSide(share, fair_share_p(int(is_first.sum()), len(decided)))
    signs = np.where(is_first, 1.0, -1.0)
    return FirstSide(share, p_of_zero(signs, clusters))


def fair_share_p(first: int, count: int) -> float:
    """Returns the exact two-sided p of a share of one half (McNemar's test)."""
    from scipy import stats

    return float(stats.binomtest(first, count).pvalue) if count else 1.0
