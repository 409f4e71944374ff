import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.stats.contingency_tables import mcnemar as other_mcnemar
from statsmodels.stats.multitest import multipletests

from mmeval.aggregate.aggregators import median
from mmeval.aggregate.scores import Scores
from mmeval.comparison.statistics import (
    Correction,
    Paired,
    Part,
    compare_by_draws,
    compare_means,
    corrected,
    mcnemar,
    sign_flip,
)


def part(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[str] = (),
    *,
    share: float = 1.0,
    stratum: str = "t",
) -> Part:
    one = np.ones(len(a))
    names = clusters or [str(at) for at in range(len(a))]
    return Part(
        stratum, share, names, np.asarray(a, float), np.asarray(b, float), one, one
    )


def all_right(count: int) -> Paired:
    return compare_means([part([1.0] * count, [1.0] * count)], 1.0)


def spread(count: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=count)


@pytest.mark.parametrize(
    ("won", "lost"), [(0, 0), (0, 1), (5, 5), (0, 9), (3, 17), (40, 41), (900, 1_000)]
)
def test_mcnemar_is_that_of_statsmodels(won: int, lost: int) -> None:
    expected = other_mcnemar([[7, won], [lost, 7]], exact=True).pvalue
    assert mcnemar(won, lost) == pytest.approx(min(1.0, float(expected)), abs=1e-9)


@pytest.mark.parametrize(("ours", "theirs"), [("holm", "holm"), ("bh", "fdr_bh")])
def test_corrected_values_are_those_of_statsmodels(
    ours: Correction, theirs: str
) -> None:
    values = [0.01, 0.04, 0.0001, 0.04, 0.9, 0.03, 1.0]
    assert corrected(values, ours) == pytest.approx(
        multipletests(values, method=theirs)[1].tolist(), abs=1e-9
    )
    assert corrected([], ours) == []
    assert corrected(values, "none") == values


def test_every_way_to_flip_the_signs_is_counted() -> None:
    values = spread(9) + 0.5
    ways = [
        abs(float(values @ signs)) >= abs(values.sum()) - 1e-9
        for signs in product((1, -1), repeat=9)
    ]
    assert sign_flip(values) == pytest.approx(np.mean(ways))
    assert [
        sign_flip(np.array(found, float)) for found in ([0] * 6, [1] * 6, [1, 0, 0])
    ] == [1.0, 2 / 64, 1.0]


@pytest.mark.parametrize(
    ("pairs", "per_cluster", "method"),
    [(40, 1, "mcnemar"), (40, 2, "sign_flip"), (80, 2, "t")],
    ids=["right or wrong", "few clusters", "many"],
)
def test_the_test_follows_from_the_scores_and_the_clusters(
    pairs: int, per_cluster: int, method: str
) -> None:
    a, b = (
        np.random.default_rng(seed).integers(2, size=pairs).tolist() for seed in (0, 1)
    )
    found = compare_means(
        [part(a, b, [str(at // per_cluster) for at in range(pairs)])], 1.0
    )
    assert (found.method, found.clusters) == (method, pairs // per_cluster)


def test_the_error_of_single_trials_is_that_of_their_differences() -> None:
    a, b = spread(50), spread(50, 1)
    found = compare_means([part(a.tolist(), b.tolist())], math.inf)
    assert found.stderr == pytest.approx(float((b - a).std(ddof=1)) / math.sqrt(50))
    assert found.ci95 is not None and sum(found.ci95) / 2 == pytest.approx(
        found.difference
    )


def test_a_mean_of_two_means_over_the_same_samples_is_that_of_their_means() -> None:
    one, two = spread(40), spread(40, 1)
    zeros = [0.0] * 40
    parts = [part(zeros, values.tolist(), share=0.5) for values in (one, two)]
    whole = compare_means([part(zeros, ((one + two) / 2).tolist())], math.inf)
    found = compare_means(parts, math.inf)
    assert (found.difference, found.stderr, found.p) == pytest.approx(
        (whole.difference, whole.stderr, whole.p)
    )


def test_tasks_of_a_group_are_independent() -> None:
    zeros = [0.0] * 40
    tasks = [spread(40), spread(40, 1)]
    errors = [
        compare_means([part(zeros, values.tolist())], math.inf).stderr
        for values in tasks
    ]
    parts = [
        part(zeros, values.tolist(), share=0.5, stratum=name)
        for name, values in zip("ab", tasks, strict=True)
    ]
    found = compare_means(parts, math.inf)
    assert found.stderr == pytest.approx(
        math.hypot(*(0.5 * (error or 0) for error in errors))
    )
    assert (found.clusters, 39 < found.freedom <= 78) == (80, True)


def test_no_observed_difference_is_no_certainty() -> None:
    same = [0.25] * 8
    found = compare_means([part(same, same)], 1.0)
    assert (found.difference, found.p) == (0.0, 1.0)
    assert found.ci95 == pytest.approx((-(1 - 0.05 ** (1 / 8)), 1 - 0.05 ** (1 / 8)))
    assert compare_means([part(same, same)], math.inf).ci95 is None
    one = compare_means([part([0.0] * 3, [1.0] * 3, ["c"] * 3)], 1.0)
    assert (one.stderr, one.ci95, one.smallest_seen(0.05, 0.8)) == (None, None, None)


def test_a_margin_that_the_interval_leaves_out_is_beyond_doubt() -> None:
    found = compare_means([part([0.0] * 100, (spread(100) - 1).tolist())], math.inf)
    assert found.ci95 is not None
    low, high = found.ci95
    assert found.doubt(high, above=True) == pytest.approx(0.025)
    assert found.doubt(low, above=False) == pytest.approx(0.025)
    same = compare_means([part([1.0] * 8, [1.0] * 8)], 1.0)
    assert same.doubt(-0.01, above=False) > 0.9
    assert same.doubt(-0.5, above=False) == pytest.approx(0.5**8)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_too_few_samples_see_nothing(alpha: float) -> None:
    seen = [all_right(count).smallest_seen(alpha, 0.8) for count in (4, 20, 200)]
    assert seen[0] is None
    assert 0 < (seen[2] or 0) < (seen[1] or 0) < 1
    found = [
        compare_means([part([0.1] * len(names), [0.1] * len(names), list(names))], 1.0)
        for names in ("aabb", "a" * 9)
    ]
    assert [one.smallest_seen(alpha, 0.8) for one in found] == [None, None]
    twelve = compare_means([part([0.1] * 12, [0.1] * 12)], 1.0)
    assert (twelve.method, 0.5 < (twelve.smallest_seen(alpha, 0.8) or 0) < 1) == (
        "sign_flip",
        True,
    )


def test_the_samples_that_are_needed_are_as_many_as_see_the_difference() -> None:
    found = compare_means([part([0.0] * 400, spread(400).tolist())], math.inf)
    seen = found.smallest_seen(0.05, 0.8) or 0
    assert found.clusters_needed(seen, 0.05, 0.8) == pytest.approx(400, rel=0.02)
    assert found.clusters_needed(seen / 2, 0.05, 0.8) == pytest.approx(1600, rel=0.02)
    needed = all_right(20).clusters_needed(0.1, 0.05, 0.8) or 0
    assert (all_right(needed).smallest_seen(0.05, 0.8) or 1) == pytest.approx(
        0.1, rel=0.05
    )


def test_medians_are_drawn_together() -> None:
    a, b = Scores(), Scores()
    for at, value in enumerate(spread(61)):
        a.add_value(f"s{at}", 0, float(value))
        b.add_value(f"s{at}", 0, float(value) + 1)
    found = compare_by_draws(a, b, median, {}, math.inf)
    assert found is not None
    assert (found.method, found.difference) == ("bootstrap", pytest.approx(1.0))
    assert found.p is not None and found.p < 0.01
    same = compare_by_draws(a, a, median, {}, 1.0)
    assert same is not None and same.ci95 is not None
    assert same.ci95[0] < 0 < same.ci95[1]
