"""Pairs of scores by known rules, which the simulated comparisons are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.resampling import Values
from mmeval.comparison.paired.contributions import PairedMean

Random = np.random.Generator
Places = NDArray[np.intp]
"""The cluster of each trial."""
Scores = tuple[Values, Values]
"""Those of two runs."""
Draw = Callable[[Random, Places], Scores]


def sizes_of(kind: str, clusters: int) -> list[int]:
    """How many trials each cluster has."""
    if kind == "single":
        return [1] * clusters
    if kind == "five each":
        return [5] * clusters
    if kind == "1 to 20":
        steps = max(1, clusters - 1)
        return [1 + 19 * place // steps for place in range(clusters)]
    # one cluster with half of all
    others = clusters - 1
    return [4 * others] + [4] * others


def names_of(
    sizes: Sequence[int],
    task: str = "",
) -> list[str]:
    """The cluster of each trial by name."""
    names = []
    for place, size in enumerate(sizes):
        names += [f"{task}{place}"] * size
    return names


def part_of(
    a: Values,
    b: Values,
    names: Sequence[str],
    share: float = 1.0,
) -> PairedMean:
    ones = np.ones(len(a))
    return PairedMean(share, names, a, b, weights_a=ones, weights_b=ones)


def right_or_wrong(share: float, disagree: float) -> Draw:
    """Pairs of which a share ``disagree`` differs; of those that do not, ``share`` are
    right in both runs."""

    def draw(random: Random, places: Places) -> Scores:
        luck = random.random(len(places))
        is_apart = luck < disagree
        is_won = luck < disagree / 2
        is_lost = is_apart & ~is_won
        is_right = random.random(len(places)) < share
        a = (is_right & ~is_won) | is_lost
        b = (is_right & ~is_lost) | is_won
        return a.astype(np.float64), b.astype(np.float64)

    return draw


def normal(within: float, shift: float = 0.0) -> Draw:
    """Differences of which a share ``within`` of the variance is that of clusters."""

    def draw(random: Random, places: Places) -> Scores:
        count = len(places)
        a = random.normal(size=count)
        of_cluster = random.normal(size=places[-1] + 1)
        own = random.normal(size=count)

        apart = math.sqrt(within) * of_cluster[places]
        apart += math.sqrt(1 - within) * own
        b = a + apart + shift
        return a, b

    return draw


def repeats(random: Random, places: Places) -> Scores:
    """Easy clusters and hard ones, right or wrong."""
    ease = random.beta(2, 2, size=places[-1] + 1)
    luck = random.random((2, len(places)))
    is_right = luck < ease[places]
    a, b = is_right.astype(np.float64)
    return a, b


def skew(random: Random, places: Places) -> Scores:
    """The reference is always right, the other run has some lower scores."""
    a = np.ones(len(places))
    b = random.beta(8, 1, size=len(places))
    return a, b


def exponential(random: Random, places: Places) -> Scores:
    a = np.ones(len(places))
    b = random.exponential(size=len(places))
    return a, b


def bounded(random: Random, places: Places) -> Scores:
    shape = (2, len(places))
    a, b = random.beta(8, 1, size=shape)
    return a, b


def rare(won: float, lost: float, *, whole: bool) -> Draw:
    """Shares of the clusters are won and lost, by all or by a uniform part of it."""

    def draw(random: Random, places: Places) -> Scores:
        of_cluster = random.random(places[-1] + 1)
        luck = of_cluster[places]
        is_apart = luck < lost + won
        is_lost = luck < lost
        is_won = is_apart & ~is_lost

        size = np.ones(len(places))
        if not whole:
            size = random.random(len(places))
        a = is_lost * size
        b = is_won * size
        return a, b

    return draw


def nearly_equal(lost: float, spread: float) -> Draw:
    """Scores that hardly differ, but for a share of pairs that lose everything."""

    def draw(random: Random, places: Places) -> Scores:
        is_lost = random.random(len(places)) < lost
        apart = spread * random.normal(size=len(places))
        a = np.where(is_lost, 1.0, 0.5)
        b = np.where(is_lost, 0.0, 0.5 + apart)
        return a, b

    return draw
