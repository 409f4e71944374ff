"""How often intervals contain the truth: 2,000 simulated evaluations for each kind of
data, made by known rules.

A 95 % interval should do so in 93 to 97 % of them.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from mmeval.aggregate.aggregators import mean, median
from mmeval.aggregate.scores import Aggregator, Scores
from mmeval.aggregate.summary import combine, summarise
from mmeval.records.score import Result, Score

SIMULATIONS = 2000
Random = np.random.Generator
ANY = (-math.inf, math.inf)


def scores(
    values: Iterable[float],
    clusters: Sequence[int] = (),
    *,
    range: tuple[float, float] = ANY,
) -> Scores:
    column = Scores(range=range)
    for i, value in enumerate(values):
        column.add(
            f"s{i}",
            0,
            Score(float(value)),
            cluster=f"c{clusters[i]}" if clusters else "",
        )
    return column


def summary(column: Scores, aggregator: Aggregator = mean, **options: Any) -> Result:
    return summarise("t", "m", column, aggregator, options, bootstrap_iters=1000)


def share_that_covers(truth: float, evaluations: Iterable[Result]) -> float:
    intervals = [result.ci95 for result in evaluations]
    assert len(intervals) == SIMULATIONS
    return (
        sum(ci95 is not None and ci95[0] <= truth <= ci95[1] for ci95 in intervals)
        / SIMULATIONS
    )


def clustered(random: Random) -> Result:
    """Twenty clusters of five; half of the variance is that of the clusters."""
    of_cluster = np.repeat(random.normal(size=20), 5)
    return summary(
        scores(
            (of_cluster + random.normal(size=100)) / math.sqrt(2),
            [i // 5 for i in range(100)],
        )
    )


def repeated(random: Random) -> Result:
    """Fifty samples, easy ones and hard ones, each answered four times; less the truth,
    which is a half."""
    ease = np.repeat(random.beta(1, 1, size=50), 4)
    right = (random.random(200) < ease) - 0.5
    return summary(scores(right, [i // 4 for i in range(200)], range=(-0.5, 0.5)))


def group(random: Random) -> Result:
    """Three tasks of different size and spread."""
    tasks = [
        summary(scores(random.normal(scale=scale, size=n)))
        for n, scale in ((20, 1), (40, 2), (80, 0.5))
    ]
    return combine("g", "m", tasks, weight_by_size=False)


KINDS: dict[str, Callable[[Random], Result]] = {
    "normal": lambda random: summary(scores(random.normal(size=20))),
    "clustered": clustered,
    "repeated": repeated,
    "bootstrapped mean": lambda random: summary(
        scores(random.normal(size=50)), interval="bootstrap"
    ),
    "bootstrapped median": lambda random: summary(
        scores(random.normal(size=101)), median
    ),
    "group": group,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_95_percent_interval_contains_the_truth_in_93_to_97_percent(
    kind: str,
) -> None:
    random = np.random.default_rng(1)
    assert (
        0.93
        <= share_that_covers(0.0, (KINDS[kind](random) for _ in range(SIMULATIONS)))
        <= 0.97
    )


@pytest.mark.parametrize("share", [0.5, 0.85])
def test_the_interval_of_a_share_of_right_answers_contains_it_in_93_to_97_percent(
    share: float,
) -> None:
    # A hundred answers, right or wrong, have few different means, and each covers or
    # not: the coverage itself is 94.3 and 93.3 %. The simulations are spread evenly
    # over their distribution, so that chance does not blur this.
    evenly = (np.arange(SIMULATIONS) + 0.5) / SIMULATIONS
    rights = binom.ppf(evenly, 100, share)
    evaluations = (
        summary(scores([i < right for i in range(100)], range=(0, 1)))
        for right in rights
    )
    assert 0.93 <= share_that_covers(share, evaluations) <= 0.97


@pytest.mark.parametrize("share", [0.98, 0.02])
def test_answers_that_were_all_right_or_all_wrong_are_no_certainty(
    share: float,
) -> None:
    # Of two in a hundred, thirty samples show none in more than half of the
    # evaluations.
    random = np.random.default_rng(1)
    evaluations = (random.random(30) < share for _ in range(SIMULATIONS))
    alike = [
        summary(scores(values, range=(0, 1)))
        for values in evaluations
        if len(set(values.tolist())) == 1
    ]
    assert len(alike) > SIMULATIONS / 2
    assert all(
        result.ci95 is not None and result.ci95[0] <= share <= result.ci95[1]
        for result in alike
    )
