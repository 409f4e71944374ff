from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from mmeval.aggregate.aggregators import mean, median
from mmeval.aggregate.resampling import ROWS, resample
from mmeval.aggregate.scores import Aggregator, Estimate, Scores
from mmeval.aggregate.statistics import FEWEST_DRAWS
from mmeval.records.score import Score


def column(values: Sequence[float | None], clusters: Sequence[int] = (), *, repeats: int = 1) -> Scores:
    """Scores of samples, each repeated; None for an unscored one."""
    scores = Scores()
    for i, value in enumerate(values):
        given = Score.unscored("lost") if value is None else Score(value)
        scores.add(f"s{i // repeats}", i % repeats, given, cluster=str(clusters[i]) if clusters else "")
    return scores


def unknown(aggregator: Aggregator) -> Aggregator:
    """The same aggregator as one of which only its results are known."""
    return lambda scores: Estimate(aggregator(scores).value)


def worst_repeat(scores: Scores) -> Estimate:
    """Mean over samples of the worst repeat."""
    worst: dict[str, float] = {}
    for row in scores:
        assert row.value is not None
        worst[row.sample] = min(row.value, worst.get(row.sample, math.inf))
    return Estimate(math.fsum(worst.values()) / len(worst))


@pytest.mark.parametrize("aggregator", [mean, median])
@pytest.mark.parametrize("levels", [2, 1000], ids=["ties", "distinct"])
@pytest.mark.parametrize("size", [60, 61])
def test_many_draws_at_once_give_what_draws_one_by_one_give(aggregator: Aggregator, levels: int, size: int) -> None:
    draw = random.Random(size + levels)
    scores = column([draw.randrange(levels) for _ in range(size)], [draw.randrange(17) for _ in range(size)])

    at_once, one_by_one = (resample(scores, by, {}, 300) for by in (aggregator, unknown(aggregator)))
    assert at_once is not None
    assert one_by_one is not None
    assert at_once.stderr == pytest.approx(one_by_one.stderr, rel=1e-9)
    assert at_once.ci95 == pytest.approx(one_by_one.ci95, rel=1e-9)


def test_clusters_are_drawn_and_not_their_trials() -> None:
    values = [float(i // 5) for i in range(100)]  # twenty clusters of five equal values
    apart, together = (resample(column(values, c), mean, {}, 1000) for c in ((), [i // 5 for i in range(100)]))

    assert apart is not None
    assert together is not None
    assert together.stderr / apart.stderr == pytest.approx(math.sqrt(5), rel=0.1)


def test_a_sample_that_is_drawn_twice_is_two_samples() -> None:
    # Of twenty samples half have a bad repeat: the mean of twenty draws deviates by sqrt(1/4 / 20). Were a sample that
    # is drawn again no other one, a draw would have some thirteen samples, most of them those of every other draw.
    values = [1.0, 0.0, 1.0, 1.0] * 10

    found = resample(column(values, repeats=2), worst_repeat, {}, 2000)

    assert found is not None
    assert found.stderr == pytest.approx(math.sqrt(1 / 80), rel=0.05)


def test_an_unknown_aggregator_gets_its_options() -> None:
    def at_most(scores: Scores, *, cap: float) -> Estimate:
        return Estimate(min(cap, max(scores.values)))

    found = resample(column([1.0, 2.0, 3.0]), at_most, {"cap": 0.5}, 100)
    assert found is not None
    assert found.ci95 == (0.5, 0.5)


def test_an_unknown_aggregator_gets_fewer_draws_of_many_rows_and_that_is_told() -> None:
    seen: list[int] = []

    def size(scores: Scores) -> Estimate:
        seen.append(len(scores))
        return Estimate(float(len(scores)))

    few, many = (resample(column([0.0] * rows), size, {}, 1000) for rows in (ROWS // 1000, ROWS // 200))
    assert few is not None
    assert many is not None
    assert (few.iterations, many.iterations) == (1000, 200)
    assert sum(seen) == 2 * ROWS

    most = resample(column([0.0] * (ROWS // 50)), size, {}, 1000)
    assert most is not None
    assert most.iterations == FEWEST_DRAWS


def test_rows_without_a_value_are_drawn_for_an_aggregator_that_counts_them() -> None:
    def share_scored(scores: Scores) -> Estimate:
        return Estimate(scores.count("scored") / len(scores))

    found = resample(column([1.0, None] * 50), share_scored, {}, 1000)
    assert found is not None
    assert found.stderr == pytest.approx(0.05, rel=0.1)


def test_a_draw_of_which_nothing_is_known_leaves_the_number_without_an_interval() -> None:
    assert resample(column([1.0, 0.0, None, None, None]), unknown(mean), {}, 1000) is None
