import math
import random
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.aggregate import resampling
from mmeval.aggregate.aggregators import mean, median, weighted_mean
from mmeval.aggregate.resampling import bootstrap, resample, resample_together
from mmeval.aggregate.scores import Aggregator, Estimate, Scores
from mmeval.aggregate.statistics import FEWEST_DRAWS, Uncertainty
from mmeval.records.score import Score


def column(
    values: Sequence[float | None], clusters: Sequence[int] = (), *, repeats: int = 1
) -> Scores:
    """Scores of samples, each repeated; None for an unscored one."""
    scores = Scores()
    for i, value in enumerate(values):
        given = (
            Score.unscored("lost") if value is None else Score(value, weight=1 + i % 3)
        )
        scores.add(
            f"s{i // repeats}",
            i % repeats,
            given,
            cluster=str(clusters[i]) if clusters else "",
        )
    return scores


def resampled(scores: Scores, aggregator: Aggregator, draws: int) -> Any:
    return resample(scores, aggregator, {}, draws)


def unknown(aggregator: Aggregator) -> Aggregator:
    """The same aggregator as one of which only its results are known."""
    return lambda scores: Estimate(aggregator(scores).value)


@pytest.mark.parametrize("aggregator", [mean, median, weighted_mean])
@pytest.mark.parametrize(
    ("levels", "size"), [(2, 60), (1000, 61)], ids=["ties", "distinct"]
)
def test_many_draws_at_once_give_what_draws_one_by_one_give(
    aggregator: Aggregator, levels: int, size: int
) -> None:
    draw = random.Random(size + levels)
    scores = column(
        [draw.randrange(levels) for _ in range(size)],
        [draw.randrange(17) for _ in range(size)],
    )
    at_once, one_by_one = (
        resampled(scores, by, 300) for by in (aggregator, unknown(aggregator))
    )
    assert at_once.stderr == pytest.approx(one_by_one.stderr, rel=1e-9)
    assert at_once.ci95 == pytest.approx(one_by_one.ci95, rel=1e-9)


def test_clusters_are_drawn_and_not_their_trials() -> None:
    clusters = sorted([*range(20)] * 5)  # twenty clusters of five equal values
    apart, together = (
        resampled(column(clusters, given), mean, 1000) for given in ((), clusters)
    )
    assert together.stderr / apart.stderr == pytest.approx(math.sqrt(5), rel=0.1)


def test_a_sample_that_is_drawn_twice_is_two_samples() -> None:
    # Of twenty samples half have a bad repeat: the mean of twenty draws deviates by
    # sqrt(1/4 / 20). Were a sample that is drawn again no other one, a draw would have
    # some thirteen samples, most of them those of every other draw.
    def worst_repeat(scores: Scores) -> Estimate:
        worst: dict[str, float] = {}
        for row in scores:
            assert row.value is not None
            worst[row.sample] = min(row.value, worst.get(row.sample, math.inf))
        return Estimate(math.fsum(worst.values()) / len(worst))

    found = resampled(column([1.0, 0.0, 1.0, 1.0] * 10, repeats=2), worst_repeat, 2000)
    assert found.stderr == pytest.approx(math.sqrt(1 / 80), rel=0.05)


def test_an_unknown_aggregator_gets_fewer_draws_of_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (resampling.ROWS, FEWEST_DRAWS) == (500_000, 100)
    monkeypatch.setattr(resampling, "ROWS", 10_000)
    seen: list[int] = []

    def size(scores: Scores) -> Estimate:
        seen.append(len(scores))
        return Estimate(float(len(scores)))

    few, many, most = (
        resampled(column([0.0] * rows), size, 1000).bootstrap_iters
        for rows in (10, 50, 200)
    )
    assert (few, many, most) == (1000, 200, FEWEST_DRAWS)
    assert sum(seen) == 2 * 10_000 + FEWEST_DRAWS * 200
    assert (
        resample(column([1.0, 0.0, None, None, None]), unknown(mean), {}, 1000)
        == Uncertainty()
    )


@pytest.mark.parametrize(
    "aggregator", [mean, median, unknown(mean)], ids=["mean", "median", "unknown"]
)
def test_equal_numbers_drawn_together_are_drawn_as_one_alone(
    aggregator: Aggregator, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = column([float(i % 7) for i in range(50)] + [None] * 10, [*range(30)] * 2)
    alone = resample(scores, aggregator, {}, 300)
    assert (alone.stderr or 0) > 0
    assert resample_together([(scores, aggregator, {})] * 2, 300, skip=True) == alone
    monkeypatch.setattr(resampling, "ROWS", 1)
    together = resample_together(
        [(scores, mean, {}), (scores, aggregator, {})], 300, skip=True
    )
    assert together.bootstrap_iters == (
        300 if aggregator in (mean, median) else FEWEST_DRAWS
    )


def test_a_draw_without_a_value_of_a_median_is_that_of_the_other_number() -> None:
    sparse = column([3.0, None, None, None])
    found = resample_together(
        [(sparse, median, {}), (column([1.0, 1.0, 1.0, 1.0]), mean, {})], 300, skip=True
    )
    assert found.ci95 == (1.0, 2.0), (
        "1 where the sample of the median is not drawn, else (3 + 1) / 2"
    )


def test_a_bootstrapped_interval_leaves_out_two_and_a_half_percent_of_the_draws_a_side() -> (
    None
):
    found: Any = bootstrap(lambda drawn: drawn[:, 0].astype(float), 1000, 20_000)
    assert found.ci95 == pytest.approx((25, 975), abs=3)
    assert found.stderr == pytest.approx(1000 / math.sqrt(12), rel=0.01)


@pytest.mark.parametrize("clusters", [2, 7, 1000, 20_000])
@pytest.mark.parametrize("iterations", [100, 137])
def test_a_bootstrap_is_to_the_last_digit_that_of_scipy(
    clusters: int, iterations: int
) -> None:
    from scipy import stats

    values = np.random.default_rng(clusters).normal(size=clusters)

    def mean_of(draws: resampling.Draws, axis: int = -1) -> resampling.Values:
        means: resampling.Values = values[draws].mean(axis=axis)
        return means

    theirs = stats.bootstrap(
        (np.arange(clusters),),
        mean_of,
        n_resamples=iterations,
        batch=max(1, resampling.DRAWN_AT_ONCE // clusters),
        method="percentile",
        rng=np.random.default_rng(resampling.BOOTSTRAP_SEED),
    )
    low, high = theirs.confidence_interval
    stderr = float(theirs.standard_error)
    ours = bootstrap(mean_of, clusters, iterations)
    assert ours == Uncertainty(stderr, (float(low), float(high)), iterations)


def test_resampling_does_not_import_scipy() -> None:
    # its import takes longer than the scores of a small run
    program = (
        "import sys, numpy\n"
        "from mmeval.aggregate.resampling import bootstrap\n"
        "bootstrap(lambda draws: draws[:, 0] * 1.0, 20, 100)\n"
        "print('scipy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
