"""Do the comparisons determine the strengths? If not, which players hang together?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from mmeval.aggregate.resampling import Values

Arrow = tuple[int, int]
"""The number of a player that has beaten another one, and the number of the other."""
_SEPARATED = 1e-7


def components(count: int, arrows: Iterable[Arrow]) -> list[list[int]]:
    """Returns the strongly connected components of players, sorted.

    In a component, a path of wins leads from each player to each other one.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    pairs = list(arrows)
    winners = [winner for winner, _ in pairs]
    losers = [loser for _, loser in pairs]
    ones = np.ones(len(pairs))
    graph = coo_array((ones, (winners, losers)), shape=(count, count))
    number, labels = connected_components(graph, directed=True, connection="strong")
    members: list[list[int]] = [[] for _ in range(number)]
    for player, label in enumerate(labels.tolist()):
        members[label].append(player)
    return sorted(members)


def is_separated(
    outcomes: Sequence[Values], others: Sequence[Sequence[Values]]
) -> bool:
    """Returns True if the likelihood of comparisons has no finite maximum.

    Each comparison has the exponent of its outcome, as coefficients of the parameters,
    and the exponents of the outcomes that did not happen. There is no finite maximum if
    some direction lowers no outcome below another one, and raises one above another. A
    linear programme looks for such a direction.
    """
    from scipy.optimize import linprog

    gaps = set()
    for outcome, not_happened in zip(outcomes, others, strict=True):
        for other in not_happened:
            gaps.add(tuple((outcome - other).tolist()))
    rows = np.array(sorted(gaps))
    count, parameters = rows.shape
    # each gap is at least its slack, from 0 to 1; the sum of slacks is to be large
    limits = np.hstack((-rows, np.eye(count)))
    solution = linprog(
        c=np.concatenate((np.zeros(parameters), -np.ones(count))),
        A_ub=limits,
        b_ub=np.zeros(count),
        bounds=[(None, None)] * parameters + [(0, 1)] * count,
        method="highs",
    )
    return bool(-solution.fun > _SEPARATED)
