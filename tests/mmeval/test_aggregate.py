from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmeval.aggregate import Estimate, Scores, combine, load_aggregator, mean, median, summarise
from mmeval.records import Result, Score

Given = float | None | str
"""A value, None for an unscored trial, or a status."""


def score(given: Given) -> Any:
    if given == "unavailable":
        return Score.unavailable("no weights")
    if isinstance(given, str):
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


def test_the_interval_is_the_normal_one() -> None:
    result = summarise("t", "m", column(0, 1, 1, 1))

    assert result.ci95 == pytest.approx((0.75 - 1.96 * 0.25, 0.75 + 1.96 * 0.25), abs=1e-3)


def test_when_all_was_lost_the_value_is_unknown_and_anything_is_possible() -> None:
    result = summarise("t", "m", column(None, "failed", range=(0, 5)))

    assert (result.value, result.stderr, result.ci95, result.bounds) == (None, None, None, (0, 5))


def test_a_metric_without_a_finite_range_has_no_bounds() -> None:
    assert summarise("t", "m", column(3, None, range=(0, math.inf))).bounds is None


def test_bounds_follow_the_tasks_own_aggregator_and_options() -> None:
    def at_most(scores: Scores, *, cap: float) -> Estimate:
        return Estimate(min(cap, max(scores.values)))

    assert summarise("t", "m", column(0.5, None), at_most, {"cap": 0.75}).bounds == (0.5, 0.75)


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

    assert (scores.levels("level"), scores.levels("tags"), scores.levels("none")) == (["easy", "hard"], ["a", "b"], [])
    assert [scores.where("tags", tag).values for tag in ("a", "b")] == [[1], [1, 0]]
    assert [row.sample for row in scores.where("level", "easy")] == ["s1"]


def test_labels_that_are_structures_are_no_levels() -> None:
    assert column(1, 1, labels=[{"k": {"a": 1}}, {"k": [["x"], "y"]}]).levels("k") == ["y"]


def test_a_group_is_the_mean_of_its_tasks_or_weighted_by_their_trials() -> None:
    members = [member("a", 1.0, n=30, scored=30, stderr=0.1), member("b", 0.0, stderr=0.3)]

    plain, weighted = (combine("g", "m", members, weight_by_size=by_size) for by_size in (False, True))
    assert (plain.value, plain.stderr) == (0.5, pytest.approx(math.hypot(0.1, 0.3) / 2))
    assert (weighted.value, weighted.stderr) == (0.75, pytest.approx(math.hypot(30 * 0.1, 10 * 0.3) / 40))
    assert (plain.n, plain.scored) == (40, 40)


def test_lost_trials_do_not_move_the_weights_and_what_could_not_be_asked_weighs_nothing() -> None:
    lossy = member("a", 1.0, n=30, scored=10, failed=20)
    partly = member("b", 0.0, n=50, scored=10, unsupported=30, unavailable=10)

    assert combine("g", "m", [lossy, partly], weight_by_size=True).value == 0.75


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
    assert (one.stderr, one.bounds) == (None, None)


def test_shipped_aggregators_are_found_by_name() -> None:
    assert (load_aggregator("mean"), load_aggregator("median")) == (mean, median)
