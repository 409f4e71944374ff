import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from mmeval.aggregate.aggregators import median
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.comparison.paired.contributions import PairedMean
from mmeval.comparison.paired.student import Student
from mmeval.comparison.statistics import (
    Correction,
    PairedTest,
    compare_by_draws,
    compare_means,
    corrected,
)


def part(
    a: Sequence[float],
    b: Sequence[float],
    clusters: Sequence[str] = (),
    *,
    share: float = 1.0,
    task: str = "t",
) -> PairedMean:
    one = np.ones(len(a))
    names = clusters or [f"{task} {at}" for at in range(len(a))]
    return PairedMean(
        share, names, np.asarray(a, float), np.asarray(b, float), one, one
    )


def all_right(count: int) -> PairedTest:
    return compare_means([part([1.0] * count, [1.0] * count)], 1.0)


def spread(count: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=count)


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


@pytest.mark.parametrize(
    ("pairs", "per_cluster", "method"),
    [(40, 1, "score"), (40, 2, "sign_flip"), (80, 2, "t")],
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
        part(zeros, values.tolist(), share=0.5, task=name)
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
    assert found.one_sided_p(high, above=True) == pytest.approx(0.025)
    assert found.one_sided_p(low, above=False) == pytest.approx(0.025)
    same = all_right(8)
    assert same.one_sided_p(-0.01, above=False) > 0.9
    assert same.one_sided_p(-0.5, above=False) == pytest.approx(0.5**8)


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
    assert twelve.method == "sign_flip"
    assert 0.5 < (twelve.smallest_seen(alpha, 0.8) or 0) < 1


def test_the_samples_that_are_needed_are_as_many_as_see_the_difference() -> None:
    found = compare_means([part([0.0] * 400, spread(400).tolist())], math.inf)
    seen = found.smallest_seen(0.05, 0.8) or 0
    assert found.clusters_needed(seen, 0.05, 0.8) == pytest.approx(400, rel=0.02)
    assert found.clusters_needed(seen / 2, 0.05, 0.8) == pytest.approx(1600, rel=0.02)


def test_clusters_that_are_all_alike_do_not_tell_how_many_are_needed() -> None:
    all_lost = compare_means([part([1.0] * 8, [0.0] * 8)], 1.0)
    assert all_lost.clusters_needed(0.01, 0.05, 0.8) is None
    assert all_right(20).clusters_needed(0.01, 0.05, 0.8) is None


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


def scored(values: Iterable[float], sizes: Sequence[int] = ()) -> Scores:
    """Scores from 0 to 1; ``sizes`` are those of clusters, by default of one each."""
    scores = Scores(range=(0, 1))
    of_trials = [at for at, size in enumerate(sizes) for _ in range(size)]
    for at, value in enumerate(values):
        cluster = f"c{of_trials[at] if sizes else at}"
        scores.add_value(f"s{at}", 0, float(value), cluster=cluster)
    return scores


def own_mean(scores: Scores) -> Estimate:
    """The aggregator of a plugin."""
    return Estimate(float(np.mean(scores.values)))


def test_a_gate_asks_for_rare_losses_of_all_numbers_but_medians() -> None:
    a, b = (scored(0.5 + spread(60, seed) / 1000) for seed in (0, 1))
    plugin, of_median = (
        compare_by_draws(a, b, aggregator, {}, 1.0) for aggregator in (own_mean, median)
    )
    assert plugin is not None and of_median is not None
    assert plugin.one_sided_p(-0.01, above=False) < 0.025
    assert plugin.one_sided_p_with_unseen(-0.01, above=False) > 0.4
    assert of_median.one_sided_p_with_unseen(-0.01, above=False) < 0.025


def test_draws_that_differ_in_their_last_digits_are_alike() -> None:
    values = np.random.default_rng(1).random(60) / 2
    found = compare_by_draws(scored(values), scored(values + 0.05), median, {}, 1.0)
    assert found is not None
    assert found.stderr == 0.0
    assert found.ci95 is not None and found.ci95[1] - found.ci95[0] > 0.05
    assert found.clusters_needed(0.02, 0.05, 0.8) is None


@pytest.mark.parametrize("b", [[0.9, 1.0] * 10, [1.0] * 19 + [0.0]])
def test_fewer_than_six_clusters_are_never_enough(b: list[float]) -> None:
    found = compare_means([part([0.0] * 20, b)], 1.0)
    assert found.clusters_needed(0.95, 0.05, 0.8) == 6


def test_unequal_clusters_of_draws_are_worth_fewer_equal_ones() -> None:
    sizes = [20, *[1] * 19]
    same = scored([0.5] * sum(sizes), sizes)
    found = compare_by_draws(same, same, median, {}, 1.0)
    effective = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    assert found is not None
    assert found.effective == pytest.approx(effective)
    assert found.ci95 is not None
    assert found.ci95[1] == pytest.approx(1 - 0.05 ** (1 / effective))


def test_a_test_that_found_something_could_have_seen_something() -> None:
    clusters = ["a", *"bcdef", *"bcdef"]
    count = len(clusters)
    found = compare_means([part([0.0] * count, [1.0] * count, clusters)], 1.0)
    assert found.effective < 6
    assert found.p is not None and found.p < 0.05
    assert found.smallest_seen(0.05, 0.8) == pytest.approx(0.8 ** (1 / 6))


def coins(sizes: Sequence[int], seed: int) -> PairedTest:
    """Two runs that toss coins, over tasks of these sizes with equal shares."""
    random = np.random.default_rng(seed)
    tasks = [
        part(
            random.integers(2, size=size).tolist(),
            random.integers(2, size=size).tolist(),
            share=1 / len(sizes),
            task=f"t{place}",
        )
        for place, size in enumerate(sizes)
    ]
    return compare_means(tasks, 1.0)


def test_a_task_with_one_pair_does_not_make_a_group_sure() -> None:
    found = [coins((1, 20, 20, 20), seed) for seed in range(100)]
    alarms = sum(one.p is not None and one.p < 0.05 for one in found)
    assert alarms <= 8
    assert found[0].stderr is None
    assert found[0].ci95 is not None
    assert (found[0].method, found[0].clusters) == ("sign_flip", 61)


@pytest.mark.parametrize("kind", ["equal", "one to twenty", "one with half"])
@pytest.mark.parametrize("scores", ["normal", "right or wrong", "rare", "skew"])
def test_p_and_interval_never_contradict_each_other(kind: str, scores: str) -> None:
    sizes = {
        "equal": [3] * 12,
        "one to twenty": list(range(1, 21)),
        "one with half": [44] + [4] * 11,
    }[kind]
    clusters = [f"c{place}" for place, size in enumerate(sizes) for _ in range(size)]
    for seed in range(10):
        random = np.random.default_rng(seed)
        a, b = random.normal(size=(2, len(clusters)))
        if scores == "right or wrong":
            a, b = (a > 0) * 1.0, (b > -0.4) * 1.0
        elif scores == "rare":
            a, b = (a > 2) * 1.0, (b > 1.5) * random.random(len(b))
        elif scores == "skew":
            a, b = np.exp(a) / 100, np.exp(b + 0.2) / 100
        found = compare_means([part(a.tolist(), b.tolist(), clusters)], 1.0)
        assert found.p is not None
        assert found.ci95 is not None
        assert (found.p < 0.05) == (not found.ci95[0] <= 0 <= found.ci95[1])


def test_one_cluster_with_half_of_all_pairs_decides_nothing() -> None:
    sizes = [76] + [4] * 19
    clusters = [f"c{place}" for place, size in enumerate(sizes) for _ in range(size)]
    alarms = 0
    for seed in range(200):
        of_cluster = np.random.default_rng(seed).normal(size=20)
        b = np.repeat(of_cluster, sizes)
        found = compare_means([part([0.0] * len(b), b.tolist(), clusters)], math.inf)
        assert found.effective == pytest.approx(1 / (0.25 + 19 * (4 / 152) ** 2))
        alarms += found.p is not None and found.p < 0.05
    assert alarms / 200 <= 0.07


def test_fewer_than_six_clusters_have_no_interval() -> None:
    found = compare_means([part([0.0] * 5, spread(5).tolist())], 1.0)
    assert found.ci95 is None
    assert found.p is not None and found.p >= 0.0625
    assert "fewer than six" in found.why


def test_no_difference_of_many_clusters_has_a_p_of_one() -> None:
    same = (spread(40) / 10).tolist()
    assert compare_means([part(same, same)], 1.0).p == 1.0


def test_a_constant_difference_without_a_range_has_no_interval() -> None:
    found = compare_means([part([0.0] * 40, [0.25] * 40)], math.inf)
    assert found.ci95 is None
    assert "no finite range" in found.why


def test_the_error_of_clusters_is_that_of_statsmodels() -> None:
    clusters = np.repeat(np.arange(40), 2)
    b = spread(80) + spread(40, 1)[clusters]
    names = [str(cluster) for cluster in clusters]
    found = compare_means([part([0.0] * 80, b.tolist(), names)], math.inf)
    fit = OLS(b, np.ones(80)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
    # its factor has also (n - 1) / (n - 1) of the one coefficient
    assert found.stderr == pytest.approx(float(fit.bse[0]), abs=1e-12)


def all_near(count: int, shift: float = 0.0) -> PairedTest:
    """Pairs that differ by nearly the same."""
    a = np.full(count, 0.5)
    b = a + shift + 0.001 * spread(count)
    return compare_means([part(a.tolist(), b.tolist())], 1.0)


def test_an_interval_holds_losses_too_rare_to_be_seen() -> None:
    """Of 100 pairs that hardly differ, 2 % that lose all may well be missing."""
    found = all_near(100)
    missed = 1 - 0.05 ** (1 / 100)
    assert found.ci95 == pytest.approx((-missed, missed), abs=1e-3)
    assert found.p is not None
    assert found.p > 0.5


def test_a_small_steady_gain_is_seen_once_enough_pairs_show_that_few_lose_all() -> None:
    few, many = all_near(100, 0.02), all_near(200, 0.02)
    assert few.p is not None
    assert many.p is not None
    assert few.p > 0.05 > many.p


@pytest.mark.parametrize(("clusters", "difference"), [(100, 0.03), (400, 0.0075)])
def test_what_is_seen_of_near_pairs_is_what_missed_ones_could_not_make_up_for(
    clusters: int, difference: float
) -> None:
    found = all_near(clusters)
    smallest = found.smallest_seen(0.05, 0.8)
    assert smallest is not None
    assert smallest == pytest.approx(difference, rel=0.05)
    assert found.clusters_needed(smallest, 0.05, 0.8) == pytest.approx(
        clusters, rel=0.02
    )


def test_pairs_of_which_some_lie_far_are_not_widened_by_unseen_ones() -> None:
    pairs = part([0.5] * 200, (0.5 + 0.3 * spread(200)).tolist())
    bounded, unbounded = (compare_means([pairs], width) for width in (1.0, math.inf))
    assert bounded.ci95 == pytest.approx(unbounded.ci95)


def test_a_gate_asks_more_surely_for_unseen_losses_than_the_interval() -> None:
    found = all_near(100)
    limit = -1.1 * (1 - 0.05 ** (1 / 100))
    assert found.ci95 is not None
    assert found.ci95[0] > limit
    assert found.one_sided_p_with_unseen(limit, above=False) > 0.025


def test_equivalence_is_the_two_one_sided_tests_of_statsmodels() -> None:
    a, b = spread(60), spread(60, 1)
    found = compare_means([part(a.tolist(), b.tolist())], math.inf)
    expected, _, _ = ttost_paired(b, a, -0.5, 0.5)
    student = Student(found.difference, found.stderr or 0, found.freedom)
    assert max(
        student.one_sided_p(0.5, above=True), student.one_sided_p(-0.5, above=False)
    ) == pytest.approx(float(expected), abs=1e-12)
    assert found.equivalence_p(0.5) >= float(expected) - 1e-12


def test_an_interval_can_be_made_at_any_level() -> None:
    found = compare_means([part([0.0] * 40, spread(40).tolist())], math.inf)
    wide, narrow = found.interval(0.01), found.interval(0.2)
    assert found.interval(0.05) == found.ci95
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < found.difference < narrow[1] < wide[1]


@pytest.mark.parametrize("won", [1.0, 0.5], ids=["right or wrong", "in parts"])
def test_no_p_is_smaller_than_that_of_clusters_that_all_differ_alike(
    won: float,
) -> None:
    found = compare_means([part([0.0] * 7, [won] * 7)], 1.0)
    assert found.p is not None and found.p >= found.least_p
    assert found.least_p == pytest.approx(0.00815 if won == 1 else 1 / 64, rel=1e-3)
