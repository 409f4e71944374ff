from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.aggregate.aggregators import mean, median
from mmeval.aggregate.scores import Estimate, Scores, load_aggregator
from mmeval.aggregate.summary import combine, summarise
from mmeval.records.score import Result, Score

Given = float | None | str | Score
"""A value, None for an unscored trial, a status, or a whole score."""


def score(given: Given) -> Any:
    if given == "unavailable":
        return Score.unavailable("no weights")
    if isinstance(given, (str, Score)):
        return given
    return Score.unscored("lost") if given is None else Score(given)


def column(
    *rows: Given,
    clusters: Sequence[str] = (),
    labels: Sequence[Mapping[str, Any]] = (),
    range: tuple[float, float] = (0, 1),
) -> Scores:
    scores = Scores(range=range)
    for i, row in enumerate(rows):
        scores.add(
            f"s{i}", 0, score(row), cluster=clusters[i] if clusters else "", labels=labels[i] if labels else None
        )
    return scores


def member(name: str, value: float | None, **more: Any) -> Result:
    return Result(name, "m", value, **{"n": 10, "scored": 10 if value is not None else 0, **more})


def test_the_mean_and_its_standard_error_are_those_of_the_hand() -> None:
    # Values 0, 1, 1, 1: variance with n-1 is 0.25, so the standard error is sqrt(0.25 / 4).
    assert mean(column(0, 1, 1, 1)) == Estimate(0.75, 0.25)


def test_repeats_of_one_sample_are_no_independent_evidence() -> None:
    # Clusters (1, 1) and (0, 0): deviations of the sums are +1 and -1, sqrt(2/1 * 2) / 4.
    assert mean(column(1, 1, 0, 0, clusters=["a", "a", "b", "b"])) == Estimate(0.5, 0.5)


def test_clusters_of_different_size_weigh_by_their_trials() -> None:
    # Mean 0.75; a: 3 - 3 * 0.75 = 0.75, b: 0 - 0.75: sqrt(2 * 2 * 0.75**2) / 4.
    assert mean(column(1, 1, 1, 0, clusters=["a", "a", "a", "b"])) == Estimate(0.75, 0.375)


@pytest.mark.parametrize("rows", [(), (None,), ("failed", "unsupported", "unavailable")], ids=str)
def test_without_a_score_there_is_no_value(rows: tuple[Given, ...]) -> None:
    for aggregator in (mean, median):
        assert aggregator(column(*rows)) == Estimate(None)


def test_one_cluster_has_no_standard_error() -> None:
    assert mean(column(0.5)) == Estimate(0.5)
    assert mean(column(0, 1, clusters=["a", "a"])) == Estimate(0.5)


@pytest.mark.parametrize(("rows", "value"), [((3, 1, 2), 2), ((4, 1, 2, 3), 2.5), ((7, None, "failed"), 7)], ids=str)
def test_the_median_is_the_middle_or_between_the_two_in_the_middle(rows: tuple[Given, ...], value: float) -> None:
    assert median(column(*rows)) == Estimate(value)


def test_everything_that_was_lost_is_counted_and_widens_the_bounds() -> None:
    result = summarise("t", "m", column(1, 0, None, "failed", "unsupported", "unavailable"))

    assert (result.n, result.scored, result.unscored, result.failed) == (6, 2, 1, 1)
    assert (result.unsupported, result.unavailable) == (1, 1)
    assert (result.value, result.bounds) == (0.5, (0.25, 0.75))


def test_the_interval_is_students_with_one_degree_of_freedom_less_than_clusters() -> None:
    # Standard error 0.25 as above; the 97.5 % quantile of t with 3 degrees of freedom is 3.1824.
    result = summarise("t", "m", column(0, 1, 1, 1, range=(-math.inf, math.inf)))

    assert result.ci95 == pytest.approx((0.75 - 3.1824 * 0.25, 0.75 + 3.1824 * 0.25), abs=1e-4)
    assert result.clusters == 4


def test_repeats_of_a_sample_add_no_degrees_of_freedom() -> None:
    result = summarise("t", "m", column(1, 1, 0, 0, clusters=["a", "a", "b", "b"], range=(-99, 99)))

    assert result.clusters == 2
    assert result.ci95 == pytest.approx((0.5 - 12.7062 * 0.5, 0.5 + 12.7062 * 0.5), abs=1e-3)


def test_an_interval_does_not_leave_the_range_of_the_metric() -> None:
    assert summarise("t", "m", column(0, 1, 1, 1)).ci95 == (0, 1)


def test_all_right_is_no_certainty() -> None:
    # Twenty right answers in a row happen once in twenty times when 86 % are right: 0.8609 ** 20 = 0.05.
    result = summarise("t", "m", column(*[1.0] * 20))

    assert (result.value, result.stderr) == (1, 0)
    assert result.ci95 == pytest.approx((0.8609, 1), abs=1e-4)


def test_all_wrong_is_no_certainty_and_repeats_do_not_make_it_one() -> None:
    result = summarise("t", "m", column(*[0.0] * 40, clusters=[f"c{i // 2}" for i in range(40)]))

    assert result.ci95 == pytest.approx((0, 1 - 0.8609), abs=1e-4)


@pytest.mark.parametrize("value", [0.1, 1.0])
@pytest.mark.parametrize("aggregator", [mean, median, lambda scores: Estimate(min(scores.values))])
def test_no_way_of_aggregating_makes_one_value_a_certainty(aggregator: Any, value: float) -> None:
    result = summarise("t", "m", column(*[value] * 20), aggregator, bootstrap_iters=100)

    unseen = 1 - 0.8609
    assert result.stderr == 0
    assert result.ci95 == pytest.approx((value - unseen * value, value + unseen * (1 - value)), abs=1e-4)


@pytest.mark.parametrize("interval", ["analytic", "bootstrap"])
@pytest.mark.parametrize("values", [(0, 1), (0.1, 0.2, 0.3)], ids=str)
def test_clusters_of_one_mean_are_no_certainty_whatever_their_values(interval: str, values: tuple[float, ...]) -> None:
    n, of = len(values), sum(values) / len(values)
    scores = column(*values * 3, clusters=[f"c{i // n}" for i in range(3 * n)])
    result = summarise("t", "m", scores, mean, {"interval": interval}, bootstrap_iters=100)

    unseen = 1 - 0.05 ** (1 / 3)
    assert result.value == pytest.approx(of)
    assert result.stderr == 0
    assert result.ci95 == pytest.approx((of - unseen * of, of + unseen * (1 - of)))


def test_one_value_of_an_unlimited_range_has_an_interval_of_no_width() -> None:
    assert summarise("t", "m", column(3, 3, 3, range=(0, math.inf))).ci95 == (3, 3)


def test_an_aggregator_that_knows_its_interval_keeps_it() -> None:
    result = summarise("t", "m", column(0, 1), lambda _: Estimate(50.0, 5.0, (41.0, 60.0)))

    assert (result.stderr, result.ci95) == (5.0, (41.0, 60.0))


def test_a_number_on_another_scale_than_the_metric_is_not_cut_at_its_range() -> None:
    result = summarise("t", "m", column(*[0, 1] * 10), lambda _: Estimate(50.0, 5.0))

    assert result.ci95 == pytest.approx((50 - 2.093 * 5, 50 + 2.093 * 5), abs=1e-2)


NAN = math.nan


@pytest.mark.parametrize(
    ("given", "value", "stderr", "ci95"),
    [
        (Estimate(NAN, 0.1, (0.0, 1.0)), None, None, None),
        (Estimate(math.inf), None, None, None),
        (Estimate(0.5, NAN), 0.5, None, None),
        (Estimate(0.5, 0.1, (NAN, 1.0)), 0.5, 0.1, (pytest.approx(0.2907, abs=1e-4), pytest.approx(0.7093, abs=1e-4))),
    ],
    ids=["value", "infinite value", "standard error", "interval"],
)
def test_what_an_aggregator_cannot_tell_is_unknown(given: Estimate, value: Any, stderr: Any, ci95: Any) -> None:
    result = summarise("t", "m", column(*[0, 1] * 10), lambda _: given)

    assert (result.value, result.stderr, result.ci95) == (value, stderr, ci95)
    assert result.bounds == (None if value is None else (value, value))


def test_a_small_spread_is_a_spread() -> None:
    result = summarise("t", "m", column(*[0.5, 0.5001] * 10))

    stderr = 0.00005 / math.sqrt(19)
    assert result.stderr == pytest.approx(stderr)
    assert result.ci95 == pytest.approx((0.50005 - 2.093 * stderr, 0.50005 + 2.093 * stderr), abs=1e-8)


def test_a_number_without_a_formula_is_bootstrapped_when_that_is_asked_for() -> None:
    scores = column(*[i / 100 for i in range(100)])

    without, resampled = (summarise("t", "m", scores, median, bootstrap_iters=n) for n in (0, 1000))
    assert (without.stderr, without.ci95, without.bootstrap_iters) == (None, None, 0)
    assert resampled.bootstrap_iters == 1000
    assert resampled.stderr == pytest.approx(0.05, rel=0.2)  # sqrt(1 / 4n) over a density of 1
    assert resampled.ci95 == pytest.approx((0.4, 0.6), abs=0.03)


def test_a_mean_may_be_bootstrapped_too() -> None:
    scores = column(*[i / 100 for i in range(100)])

    formula, resampled = (
        summarise("t", "m", scores, mean, {"interval": interval}, bootstrap_iters=1000)
        for interval in ("analytic", "bootstrap")
    )
    assert (formula.bootstrap_iters, resampled.bootstrap_iters) == (0, 1000)
    assert resampled.stderr == pytest.approx(formula.stderr, rel=0.1)
    assert resampled.stderr != formula.stderr


def test_when_all_was_lost_the_value_is_unknown_and_anything_is_possible() -> None:
    result = summarise("t", "m", column(None, "failed", range=(0, 5)))

    assert (result.value, result.stderr, result.ci95, result.bounds) == (None, None, None, (0, 5))


def test_a_metric_without_a_finite_range_has_no_bounds() -> None:
    assert summarise("t", "m", column(3, None, range=(0, math.inf))).bounds is None


def test_bounds_follow_the_tasks_own_aggregator_and_options() -> None:
    def at_most(scores: Scores, *, cap: float) -> Estimate:
        return Estimate(min(cap, max(scores.values)))

    assert summarise("t", "m", column(0.5, None), at_most, {"cap": 0.75}).bounds == (0.5, 0.75)


def test_what_is_known_of_an_unscored_trial_narrows_the_bounds() -> None:
    partly = Score.unscored("one verdict of four is lost", bounds=(0.5, 0.75))

    assert summarise("t", "m", column(1, partly, None)).bounds == (pytest.approx(1.5 / 3), pytest.approx(2.75 / 3))


def test_bounds_need_no_finite_range_where_every_lost_trial_has_its_own() -> None:
    partly = Score.unscored("half of it is lost", bounds=(1, 2))

    assert summarise("t", "m", column(3, partly, range=(0, math.inf))).bounds == (2, 2.5)


def test_bounds_of_a_number_that_falls_as_scores_rise_are_in_order() -> None:
    assert summarise("t", "m", column(1, None), lambda s: Estimate(1 - (mean(s).value or 0))).bounds == (0, 0.5)


def test_suspended_scoring_leaves_counts_and_bounds_but_no_number() -> None:
    result = summarise("t", "m", column(1, 1, 0, None), suspended=True)

    assert (result.value, result.stderr, result.ci95) == (None, None, None)
    assert (result.suspended, result.scored, result.unscored, result.bounds) == (True, 3, 1, (0.5, 0.75))


rows = st.lists(st.floats(0, 1) | st.sampled_from([None, "failed", "unsupported", "unavailable"]), min_size=1)


@given(rows)
def test_bounds_contain_the_value(given: list[Given]) -> None:
    result = summarise("t", "m", column(*given))

    if result.value is not None:
        assert result.bounds is not None
        assert result.bounds[0] - 1e-9 <= result.value <= result.bounds[1] + 1e-9
    assert (
        result.n
        == len(given)
        == (result.scored + result.unscored + result.failed + result.unsupported + result.unavailable)
    )


@given(rows, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(given: list[Given], draw: random.Random) -> None:
    clusters = [f"c{i % 3}" for i in range(len(given))]
    both = list(zip(given, clusters, strict=True))
    one = mean(column(*given, clusters=clusters))
    draw.shuffle(both)
    other = mean(column(*(row for row, _ in both), clusters=[cluster for _, cluster in both]))

    assert other.value == pytest.approx(one.value, abs=1e-12)
    assert other.stderr == pytest.approx(one.stderr, abs=1e-9)


def test_a_breakdown_takes_rows_by_label_and_by_each_of_several_labels() -> None:
    labels: list[dict[str, Any]] = [
        {"level": "hard", "tags": ["a", "b"]},
        {"level": "easy", "tags": ["b", "b"]},
        {"tags": None},
    ]
    scores = column(1, 0, 0.5, labels=labels)

    assert {level: part.values for level, part in scores.by_level("tags").items()} == {"a": [1], "b": [1, 0]}
    assert {level: [row.sample for row in part] for level, part in scores.by_level("level").items()} == {
        "easy": ["s1"],
        "hard": ["s0"],
    }
    assert scores.by_level("none") == {}


def test_a_slice_keeps_what_is_known_of_its_unscored_trials() -> None:
    partly = Score.unscored("half of it is lost", bounds=(0.5, 0.75))
    scores = column(1, partly, labels=[{"level": "easy"}, {"level": "hard"}])

    assert summarise("t", "m", scores.by_level("level")["hard"]).bounds == (0.5, 0.75)


def test_labels_that_are_structures_are_no_levels() -> None:
    assert list(column(1, 1, labels=[{"k": {"a": 1}}, {"k": [["x"], "y"]}]).by_level("k")) == ["y"]


def test_a_group_is_the_mean_of_its_tasks_or_weighted_by_their_trials() -> None:
    members = [member("a", 1.0, n=30, scored=30, stderr=0.1), member("b", 0.0, stderr=0.3)]

    plain, weighted = (combine("g", "m", members, weight_by_size=by_size) for by_size in (False, True))
    assert (plain.value, plain.stderr) == (0.5, pytest.approx(math.hypot(0.1, 0.3) / 2))
    assert (weighted.value, weighted.stderr) == (0.75, pytest.approx(math.hypot(30 * 0.1, 10 * 0.3) / 40))
    assert (plain.n, plain.scored) == (40, 40)
    assert (plain.weights, weighted.weights) == ({"a": 0.5, "b": 0.5}, {"a": 0.75, "b": 0.25})


def test_a_groups_interval_adds_up_those_of_its_independent_tasks() -> None:
    # Below: half of hypot(0.3, 0.4); above: half of hypot(0.1, 0.4).
    members = [member("a", 0.8, stderr=0.1, ci95=(0.5, 0.9)), member("b", 0.5, stderr=0.2, ci95=(0.1, 0.9))]

    result = combine("g", "m", members, weight_by_size=False)
    assert result.ci95 == pytest.approx((0.65 - 0.25, 0.65 + math.hypot(0.1, 0.4) / 2))


def test_a_group_with_a_task_that_was_all_right_is_not_surer_than_that_task_allows() -> None:
    results = [summarise(name, "m", column(*[1.0] * 20)) for name in ("a", "b")]

    group = combine("g", "m", results, weight_by_size=False)
    assert group.ci95 == pytest.approx((1 - (1 - 0.8609) / math.sqrt(2), 1), abs=1e-4)


def test_a_group_with_suspended_scoring_has_no_number() -> None:
    scores = column(1, 0, None)

    members = [summarise("t", "m", scores), summarise("u", "m", scores, suspended=True)]

    group = combine("g", "m", members, weight_by_size=False)
    assert (group.value, group.stderr, group.ci95, group.suspended) == (None, None, None, True)
    assert group.bounds == pytest.approx((1 / 3, 2 / 3))


def test_lost_trials_do_not_move_the_weights_and_what_could_not_be_asked_weighs_nothing() -> None:
    lossy = member("a", 1.0, n=30, scored=10, failed=20)
    partly = member("b", 0.0, n=50, scored=10, unsupported=30, unavailable=10)

    assert combine("g", "m", [lossy, partly], weight_by_size=True).value == 0.75


def test_bad_samples_do_not_move_the_weights_and_stay_in_the_bounds() -> None:
    damaged = member("a", 1.0, n=30, scored=10, failed=20, faulty=20, bounds=(1 / 3, 1.0))
    whole = member("b", 0.0, bounds=(0.0, 0.0))

    group = combine("g", "m", [damaged, whole], weight_by_size=True)
    assert (group.value, group.weights, group.faulty) == (0.5, {"a": 0.5, "b": 0.5}, 20)
    assert group.bounds == pytest.approx((0.25, 0.75)), "as if all 40 were asked"


def test_a_task_of_which_all_samples_are_bad_is_left_out_of_the_value_and_not_of_the_bounds() -> None:
    known = member("a", 0.5, stderr=0.1, bounds=(0.5, 0.5))
    broken = member("b", None, failed=10, faulty=10, bounds=(0.0, 1.0))

    group = combine("g", "m", [known, broken], weight_by_size=False)
    assert (group.value, group.stderr, group.weights) == (0.5, pytest.approx(0.1), {"a": 1.0})
    assert (group.n, group.failed, group.bounds) == (20, 10, (0.25, 0.75))


def test_a_task_that_could_not_be_asked_is_left_out_of_the_mean_but_not_of_the_counts() -> None:
    known = member("a", 0.5, stderr=0.1, bounds=(0.5, 0.5))
    result = combine("g", "m", [known, member("b", None, unsupported=10)], weight_by_size=False)

    assert (result.value, result.stderr, result.bounds) == (0.5, pytest.approx(0.1), (0.5, 0.5))
    assert (result.n, result.unsupported) == (20, 10)


def test_a_task_whose_trials_were_all_lost_leaves_the_group_unknown_within_bounds() -> None:
    known = member("a", 0.5, stderr=0.1, bounds=(0.5, 0.5))
    result = combine("g", "m", [known, member("b", None, failed=10, bounds=(0.0, 1.0))], weight_by_size=False)

    assert (result.value, result.stderr, result.bounds, result.failed) == (None, None, (0.25, 0.75), 10)


def test_a_group_of_unknowns_is_unknown() -> None:
    result = combine("g", "m", [member("a", None)], weight_by_size=True)

    assert (result.value, result.stderr, result.ci95) == (None, None, None)


def test_a_group_has_the_standard_error_and_bounds_that_all_its_tasks_have() -> None:
    known = member("a", 0.5, stderr=0.1, bounds=(0.4, 0.6))
    both = combine("g", "m", [known, member("b", 0.7, stderr=0.1, bounds=(0.6, 1.0))], weight_by_size=False)
    assert both.bounds == pytest.approx((0.5, 0.8))

    one = combine("g", "m", [known, member("b", 0.7)], weight_by_size=False)
    assert (one.stderr, one.ci95, one.bounds) == (None, None, None)


def test_shipped_aggregators_are_found_by_name() -> None:
    assert (load_aggregator("mean"), load_aggregator("median")) == (mean, median)


def test_rows_taken_by_their_places_keep_bounds_and_what_could_not_be_asked() -> None:
    scores = column(0.5, Score.unscored("lost", bounds=(0.25, 0.5)), labels=[{"level": "a"}, {"level": ["a", "b"]}])
    scores.add("s2", 0, "failed", labels={"level": "b"}, faulty=True)

    assert {level: list(places) for level, places in scores.places("level").items()} == {"a": [0, 1], "b": [1, 2]}
    part = scores.by_level("level")["b"]
    assert [(row.sample, row.status, row.faulty) for row in part] == [("s1", "unscored", False), ("s2", "failed", True)]
    assert part.filled(1).values == [0.5, 1.0]
    assert [row.faulty for row in part.drawn([[1], [0]])] == [True, False]


def test_a_sample_that_could_not_be_asked_counts_as_failed_and_widens_the_bounds() -> None:
    scores = column(1)
    scores.add("s1", 0, "failed", faulty=True)

    found = summarise("t", "m", scores)
    assert (found.value, found.failed, found.faulty, found.bounds) == (1.0, 1, 1, (0.5, 1.0))
    assert Result.from_json(found.to_json()) == found
    assert not any(row.faulty for row in scores.filled(0))


def test_what_is_inapplicable_stands_in_no_mean_and_no_bounds() -> None:
    scores = Scores(range=(0, 1))
    for name, one in {"a": Score(0.5), "b": Score.inapplicable("no sound"), "c": Score.unscored("lost")}.items():
        scores.add(name, 0, one)
    found = summarise("t", "m", scores)

    assert (found.value, found.n, found.scored, found.unscored, found.inapplicable) == (0.5, 3, 1, 1, 1)
    assert found.bounds == (0.25, 0.75)
    assert [row.status for row in scores] == ["scored", "inapplicable", "unscored"]


def test_a_task_without_anything_to_score_is_left_out_of_its_group_and_moves_no_weight() -> None:
    heard = Result("a", "m", 0.5, 10, 4, inapplicable=6, bounds=(0.5, 0.5))
    silent = Result("b", "m", None, 10, 0, inapplicable=10)
    other = Result("c", "m", 1.0, 4, 4, bounds=(1.0, 1.0))
    found = combine("g", "m", [heard, silent, other], weight_by_size=True)

    assert (found.value, found.weights, found.inapplicable) == (0.75, {"a": 0.5, "c": 0.5}, 16)
    assert found.bounds == (0.75, 0.75)
