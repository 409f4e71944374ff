"""Hand-computed: the parts are columns over the same trials, as their task has them."""

import math
from typing import Any

import pytest

from mmeval.aggregate.aggregators import mean, median
from mmeval.aggregate.combination import mean_of
from mmeval.aggregate.scores import AggregatedNumber, Aggregator, Estimate, Scores
from mmeval.aggregate.summary import summarise
from mmeval.records.score import Result, Score

NONE = Score.inapplicable("nothing of the kind")
GONE = Score.unavailable("no judge")
LOST = Score.lost("the verdict is lost")
FAR = (-math.inf, math.inf)


def part(
    name: str,
    *rows: Any,
    clusters: str = "",
    range: Any = (0, 1),
    by: Aggregator = mean,
    **more: Any,
) -> AggregatedNumber:
    scores = Scores(range=range)
    for i, row in enumerate(rows):
        score: Any = row if isinstance(row, (Score, str)) else Score(row)
        scores.add(f"s{i}", 0, score, cluster=clusters[i] if clusters else "")
    return AggregatedNumber(
        summarise("t", name, scores, by, bootstrap_iters=200, **more), scores, by, {}
    )


def made(*parts: AggregatedNumber, skip: bool = False, **more: Any) -> Result:
    return mean_of("t", "both", parts, skip=skip, bootstrap_iters=400, **more)


def test_each_part_is_averaged_over_its_own_trials() -> None:
    # Means 0.75 of four trials and 0.5 of two; the mean of what each trial has would be
    # (0 + 1 + 1 + 1) / 4.
    found = made(part("a", 0, 1, 1, 1), part("b", 0, NONE, NONE, 1))
    assert found.value == 0.625
    assert found.n == 4
    assert found.scored == 4
    assert found.inapplicable == 0
    assert (found.bounds, found.weights) == ((0.625, 0.625), {"a": 0.5, "b": 0.5})


@pytest.mark.parametrize(
    "other",
    [(NONE, NONE), (GONE, NONE)],
    ids=["inapplicable", "both"],
)
def test_a_part_with_nothing_to_be_made_of_is_skipped_or_leaves_the_whole_unknown(
    other: Any,
) -> None:
    first = part("a", 0, 1)
    found = made(first, part("b", *other), skip=True)
    assert found.value == 0.5
    assert found.scored == 2
    assert found.unavailable == 0
    assert found.weights == {"a": 1.0}
    assert (found.stderr, found.ci95, found.bounds) == (
        first.result.stderr,
        first.result.ci95,
        (0.5, 0.5),
    )
    unknown = made(first, part("b", *other))
    assert (unknown.value, unknown.ci95, unknown.bounds, unknown.weights) == (
        None,
        None,
        None,
        {"a": 1.0},
    )


@pytest.mark.parametrize("skip", [True, False])
def test_a_part_that_was_lost_leaves_the_whole_within_its_bounds(skip: bool) -> None:
    found = made(part("a", 0, 1), part("b", LOST, LOST), skip=skip)
    assert (found.value, found.unscored, found.scored, found.bounds) == (
        None,
        2,
        0,
        (0.25, 0.75),
    )


def test_a_part_that_no_answer_has_is_left_out_whatever_failed() -> None:
    found = made(part("a", 0, 1, "failed"), part("b", NONE, NONE, "failed"), skip=True)
    assert (found.value, found.failed, found.bounds) == (
        0.5,
        1,
        pytest.approx((1 / 3, 2 / 3)),
    )
    assert made(part("a", "failed"), part("b", "failed"), skip=True).bounds == (0, 1)


def test_trials_that_are_lost_in_part_are_in_the_bounds() -> None:
    found = made(part("a", 0, 1, 1, "failed"), part("b", 1, LOST, NONE, "failed"))
    # a: 2/3, within 0.5 and 0.75; b: 1, within 1/3 and 1.
    assert found.value == pytest.approx((2 / 3 + 1) / 2)
    assert found.bounds == pytest.approx((5 / 12, 7 / 8))
    assert found.n == 4
    assert found.scored == 2
    assert found.unscored == 1
    assert found.failed == 1


def test_a_trial_without_an_option_counts_once_for_all_parts() -> None:
    scores = Scores(range=(0, 1))
    for i, no_option in enumerate((True, False)):
        scores.add_value(f"s{i}", 0, 0.0, no_option=no_option)
    choice = AggregatedNumber(summarise("t", "choice", scores), scores, mean, {})
    assert made(choice, choice).no_option == 1


@pytest.mark.parametrize("skip", [False, True])
def test_a_part_of_which_every_verdict_is_refused_is_left_out_of_the_value(
    skip: bool,
) -> None:
    scores = Scores(range=(0, 1))
    scores.add("s0", 0, Score.refused("the judge refused"))
    refused = AggregatedNumber(summarise("t", "b", scores), scores, mean, {})
    found = made(part("a", 1), refused, skip=skip)
    assert (found.value, found.bounds, found.refused_verdicts) == (1, (0.5, 1), 1)


def test_what_is_unavailable_has_no_value_whatever_is_known() -> None:
    found = made(part("a", 0, 1, "failed"), skip=True, unavailable=True)
    assert (found.value, found.bounds, found.unavailable, found.failed, found.n) == (
        None,
        None,
        2,
        1,
        3,
    )


def test_a_suspended_part_suspends_the_whole() -> None:
    found = made(part("a", 0, 1), part("b", 1, LOST, suspended=True), skip=True)
    assert (found.suspended, found.value, found.bounds) == (True, None, (0.5, 0.75))


def test_no_trial_at_all_has_no_value() -> None:
    assert made(part("a"), part("b")).value is None


def test_the_same_clusters_stand_behind_all_parts() -> None:
    rows = [0, 0.25, 0.5, 0.75, 1] * 8
    alike = made(part("a", *rows), part("b", *rows))
    single = part("a", *rows).result
    # of independent parts it would be 0.71 of that
    assert alike.stderr == pytest.approx(single.stderr)
    assert alike.ci95 == pytest.approx(single.ci95)
    assert alike.bootstrap_iters == 0
    against = made(part("a", *rows), part("b", *(1 - row for row in rows)))
    assert (against.value, against.stderr) == (pytest.approx(0.5), 0.0)
    assert against.ci95 == pytest.approx(
        (0.5 - 0.5 * (1 - 0.05 ** (1 / 40)), 0.5 + 0.5 * (1 - 0.05 ** (1 / 40)))
    )


def test_rows_of_a_cluster_go_together_and_other_aggregators_have_their_part() -> None:
    rows, clusters = [0, 0, 1, 1] * 10, "".join(chr(65 + i // 2) for i in range(40))
    apart = made(part("a", *rows), part("b", *rows))
    together = made(
        part("a", *rows, clusters=clusters), part("b", *rows, clusters=clusters)
    )
    assert apart.stderr is not None and together.stderr is not None
    assert (together.clusters, together.stderr > 1.2 * apart.stderr) == (20, True)
    mixed = made(part("a", *rows), part("b", *rows, by=median))
    assert (mixed.value, mixed.bootstrap_iters, mixed.ci95 is not None) == (
        0.5,
        400,
        True,
    )


def test_a_draw_without_a_part_is_that_of_the_others_or_unknown() -> None:
    rare = [NONE] * 7 + [1]  # a third of the draws are without the last trial
    parts = part("a", *([0, 1] * 4), by=median), part("b", *rare)
    assert made(*parts, skip=True).ci95 is not None
    unknown = made(*parts)
    assert (unknown.value, unknown.ci95) == (0.75, None)
    assert unknown.no_interval == "some draws of the bootstrap have no value"


def test_a_mean_of_one_trial_leaves_the_whole_without_an_interval() -> None:
    found = made(part("a", *([0, 1] * 4)), part("b", *[NONE] * 7, 1), skip=True)
    assert (found.value, found.ci95, found.no_interval) == (0.75, None, "one cluster")


@pytest.mark.parametrize("by", [mean, median])
def test_the_interval_of_bounds_covers_what_any_part_has_lost(by: Aggregator) -> None:
    rows = [0, 0.25, 0.5, 0.75, 1] * 8
    found = made(
        part("a", *rows, *[LOST] * 4, by=by), part("b", *rows, *[1] * 4, by=by)
    )
    assert found.ci95 is not None
    assert found.bounds_ci95 is not None
    chance = 0.01 if by is median else 0.0  # each end has draws of its own
    assert found.bounds_ci95[0] <= found.ci95[0] + chance
    assert found.bounds_ci95[1] >= found.ci95[1] - chance
    assert found.bounds_ci95 != found.ci95


def strict(scores: Scores) -> Estimate:
    """What has no value counts 0."""
    return Estimate(sum(scores.values) / len(scores))


def test_an_aggregator_that_is_no_mean_is_drawn_with_all_rows() -> None:
    rows = (1, 1, LOST, LOST)
    found = made(part("a", *rows, by=strict), part("b", *rows, by=strict))
    assert found.value == 0.5
    # of the trials with a value alone it would be 0
    assert found.stderr == pytest.approx(0.25, rel=0.15)


def test_a_range_without_ends_gives_no_bounds() -> None:
    found = made(part("a", 3, LOST, range=FAR), part("b", 1, 1))
    assert (found.value, found.bounds) == (2.0, None)
