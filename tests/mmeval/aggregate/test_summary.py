import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mmeval.aggregate.aggregators import mean, median
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.aggregate.summary import combine, summarise
from mmeval.records.score import Result, Score

Given = float | None | str | Score
"""A value, None for an unscored trial, a status, or a whole score."""
STATUSES = ["failed", "unsupported", "unavailable"]
ANY = (-math.inf, math.inf)
OPEN = (0.0, math.inf)
NAN = math.nan


def score(given: Given) -> Any:
    if given == "unavailable":
        return Score.unavailable("no weights")
    if isinstance(given, (str, Score)):
        return given
    return Score.unscored("lost") if given is None else Score(given)


def column(
    *rows: Given,
    clusters: Sequence[str] = "",
    labels: Sequence[Mapping[str, Any]] = (),
    range: Any = (0, 1),
) -> Scores:
    scores = Scores(range=range)
    for i, row in enumerate(rows):
        cluster, of_row = clusters[i] if clusters else "", labels[i] if labels else None
        scores.add(f"s{i}", 0, score(row), cluster=cluster, labels=of_row)
    return scores


def partly(low: float, high: float) -> Score:
    """Unscored, and known in part."""
    return Score.unscored("a verdict is lost", bounds=(low, high))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # Values 0, 1, 1, 1: variance with n-1 is 0.25, so the standard error is
        # sqrt(0.25 / 4).
        (column(0, 1, 1, 1), Estimate(0.75, 0.25)),
        # Clusters (1, 1) and (0, 0): deviations of the sums are +1 and -1, sqrt(2/1 *
        # 2) / 4.
        (column(1, 1, 0, 0, clusters="aabb"), Estimate(0.5, 0.5)),
        # Mean 0.75; a: 3 - 3 * 0.75 = 0.75, b: 0 - 0.75. Their squares are divided by
        # the share of trials that the other one has: 0.75**2 * (4 + 4 / 3) / 4**2.
        (column(1, 1, 1, 0, clusters="aaab"), Estimate(0.75, 0.75 / math.sqrt(3))),
        (column(0.5), Estimate(0.5)),
        (column(0, 1, clusters="aa"), Estimate(0.5)),
        (column(), Estimate(None)),
        (column(None), Estimate(None)),
        (column(*STATUSES), Estimate(None)),
    ],
    ids=[
        "plain",
        "repeats",
        "uneven clusters",
        "one",
        "one cluster",
        "empty",
        "unscored",
        "not asked",
    ],
)
def test_the_mean_has_the_standard_error_of_independent_clusters(
    scores: Scores, expected: Estimate
) -> None:
    found = mean(scores)
    assert found.value == expected.value
    assert found.stderr == (expected.stderr and pytest.approx(expected.stderr))


def test_the_median_is_the_middle_or_between_the_two_in_the_middle() -> None:
    given: list[tuple[Given, ...]] = [
        (3, 1, 2),
        (4, 1, 2, 3),
        (7, None, "failed"),
        (),
        (None,),
    ]
    found = [median(column(*rows)).value for rows in given]
    assert found == [2, 2.5, 7, None, None]


@pytest.mark.parametrize(
    ("count", "lower", "upper"),
    [(10, 2, 9), (100, 40, 61)],
)
def test_the_interval_of_a_median_lies_between_two_of_the_values(
    count: int, lower: int, upper: int
) -> None:
    assert median(column(*range(1, count + 1))).ci95 == (lower, upper)


def test_repeats_of_a_sample_count_once_in_the_interval_of_a_median() -> None:
    values = sorted([*range(1, 21)] * 4)
    found = median(column(*values, clusters=[str(value) for value in values]))
    assert found.ci95 == (6, 15)


def test_of_four_clusters_the_median_has_no_interval() -> None:
    found = summarise("t", "m", column(1, 2, 3, 4), median, bootstrap_iters=100)
    assert found.ci95 is None
    assert found.no_interval == "too few clusters for the interval of a median"
    assert found.stderr is not None


def test_everything_that_was_lost_is_counted_and_widens_the_bounds() -> None:
    found = summarise(
        "t", "m", column(1, 0, None, *STATUSES, Score.inapplicable("no sound"))
    )
    counts = (
        found.scored,
        found.unscored,
        found.failed,
        found.unsupported,
        found.unavailable,
        found.inapplicable,
    )
    assert found.task == "t"
    assert found.metric == "m"
    assert found.n == 7
    assert counts == (2, 1, 1, 1, 1, 1)
    assert (found.value, found.bounds, found.suspended, found.higher_is_better) == (
        0.5,
        (0.25, 0.75),
        False,
        True,
    )


@pytest.mark.parametrize(
    ("scores", "clusters", "expected"),
    [
        # Clopper and Pearson, of 4 and of 2
        (column(0, 1, 1, 1), 4, (0.1941, 0.9937)),
        (column(1, 1, 0, 0, clusters="aabb"), 2, (0.0126, 0.9874)),
    ],
    ids=["right or wrong", "repeats"],
)
def test_the_interval_of_a_mean(
    scores: Scores, clusters: int, expected: tuple[float, float]
) -> None:
    found = summarise("t", "m", scores)
    assert (found.clusters, found.ci95) == (clusters, pytest.approx(expected, abs=1e-4))


# 1 + 0.25 / 0.1**2 = 26 trials, by the quantile of 19 degrees of freedom 25.18
HALF = (pytest.approx(0.2961, abs=1e-4), pytest.approx(0.7039, abs=1e-4))


@pytest.mark.parametrize(
    ("given", "value", "stderr", "ci95"),
    [
        (Estimate(50.0, 5.0, (41.0, 60.0)), 50.0, 5.0, (41.0, 60.0)),
        (
            Estimate(50.0, 5.0),
            50.0,
            5.0,
            None,
        ),
        (Estimate(NAN, 0.1, (0.0, 1.0)), None, None, None),
        (Estimate(0.5, NAN), 0.5, None, None),
        (Estimate(0.5, 0.1, (NAN, 1.0)), 0.5, 0.1, HALF),
    ],
    ids=[
        "its own interval",
        "another scale",
        "NaN",
        "NaN error",
        "NaN interval",
    ],
)
def test_what_an_aggregator_knows_is_kept_and_what_is_no_number_is_unknown(
    given: Estimate, value: Any, stderr: Any, ci95: Any
) -> None:
    found = summarise("t", "m", column(*[0, 1] * 10), lambda _: given)
    assert (found.value, found.stderr, found.ci95) == (value, stderr, ci95)
    assert found.bounds == (None if value is None else (value, value))


def test_a_number_without_a_formula_is_bootstrapped_when_that_is_asked_for() -> None:
    scores = column(*[i / 100 for i in range(100)])

    def middle(scores: Scores) -> Estimate:
        return Estimate(median(scores).value)

    without = summarise("t", "m", scores, middle, bootstrap_iters=0)
    resampled = summarise("t", "m", scores, middle, bootstrap_iters=1000)
    assert (without.stderr, without.ci95, without.bootstrap_iters) == (None, None, 0)
    assert without.no_interval == "not bootstrapped"
    assert resampled.bootstrap_iters == 1000
    # sqrt(1 / 4n) over a density of 1
    assert resampled.stderr == pytest.approx(0.05, rel=0.2)
    assert resampled.ci95 == pytest.approx((0.4, 0.6), abs=0.03)


def test_a_bootstrapped_interval_is_not_shorter_than_that_of_its_standard_error() -> (
    None
):
    scores = column(*[1.0] * 48, 0.0, 0.0)
    drawn = summarise(
        "t", "m", scores, mean, {"interval": "bootstrap"}, bootstrap_iters=1000
    )
    formula = summarise("t", "m", scores)
    assert drawn.ci95 is not None
    assert formula.ci95 is not None
    assert drawn.ci95[0] <= formula.ci95[0] + 1e-3
    assert drawn.ci95[1] >= formula.ci95[1] - 1e-3


def test_without_a_range_a_hundred_clusters_are_drawn_for_an_interval() -> None:
    few, many = (
        summarise(
            "t",
            "m",
            column(*[float(i % 7) for i in range(count)], range=ANY),
            mean,
            {"interval": "bootstrap"},
            bootstrap_iters=200,
        )
        for count in (99, 100)
    )
    assert few.ci95 is None
    assert few.no_interval == "too few clusters for a metric without a finite range"
    assert few.stderr is not None
    assert many.ci95 is not None


def test_the_interval_of_bounds_covers_lost_trials_and_other_samples() -> None:
    right, wrong = [1.0] * 60, [0.0] * 30
    kept = summarise("t", "m", column(*right, *wrong))
    lossy = summarise("t", "m", column(*right, *wrong, *["failed"] * 10))
    assert kept.bounds_ci95 == kept.ci95
    assert lossy.ci95 == kept.ci95
    assert lossy.bounds == (0.6, 0.7)
    assert lossy.bounds_ci95 is not None
    # The bounds are apart by two standard errors: 1.645 of them on each side.
    assert lossy.bounds_ci95 == pytest.approx((0.513, 0.776), abs=2e-3)
    assert lossy.interval == lossy.bounds_ci95


def test_where_nothing_bounds_what_was_lost_the_interval_is_that_of_the_others() -> (
    None
):
    values = [0, 1, 2, 3, 4] * 4
    found = summarise("t", "m", column(*values, "failed", range=OPEN))
    assert (found.bounds, found.bounds_ci95) == (None, None)
    assert found.interval == found.ci95 is not None


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (column(0, 1, clusters="aa"), "one cluster"),
        (column(None), ""),
    ],
    ids=["one cluster", "no value"],
)
def test_a_number_says_why_it_has_no_interval(scores: Scores, reason: str) -> None:
    found = summarise("t", "m", scores)
    assert (found.ci95, found.no_interval) == (None, reason)


def test_effective_clusters_are_fewer_where_one_has_more_trials() -> None:
    found = summarise("t", "m", column(1, 0, 1, 0, 1, 1, clusters="aaabcd"))
    assert found.clusters == 4
    # shares of 1/2 and three of 1/6
    assert found.effective_clusters == pytest.approx(1 / (1 / 4 + 3 / 36))


def in_group(*members: Result, **options: Any) -> Result:
    return combine("g", "m", members, **{"weight_by_size": False, **options})


def of_task(name: str, *values: Given, prefix: str = "s") -> Result:
    scores = Scores(range=(0, 1))
    for place, value in enumerate(values):
        scores.add(f"{prefix}{place}", 0, score(value))
    return summarise(name, "m", scores)


def test_tasks_over_the_same_samples_are_not_independent() -> None:
    values = [1, 0, 1, 1, 0] * 8
    alone = of_task("a", *values)
    same = in_group(alone, of_task("b", *values))
    other = in_group(alone, of_task("b", *values, prefix="t"))
    assert alone.stderr is not None
    assert same.stderr == pytest.approx(alone.stderr)
    assert same.ci95 == pytest.approx(alone.ci95)
    assert other.stderr == pytest.approx(alone.stderr / math.sqrt(2))
    assert (same.clusters, other.clusters) == (40, 80)


def test_a_group_in_a_group_keeps_what_its_tasks_know() -> None:
    tasks = [of_task(name, *[1, 0, 1, 1] * 5, prefix=name) for name in "abc"]
    inner = in_group(*tasks[:2])
    nested = in_group(inner, tasks[2])
    assert tasks[0].stderr is not None
    shares = (0.25, 0.25, 0.5)
    expected = math.hypot(*(share * tasks[0].stderr for share in shares))
    assert nested.stderr == pytest.approx(expected)


def test_a_group_with_a_task_of_one_sample_names_it_as_the_reason() -> None:
    found = in_group(of_task("a", *[1, 0] * 10), of_task("b", 1, prefix="t"))
    assert (found.value, found.stderr, found.ci95) == (0.75, None, None)
    assert found.no_interval == "one cluster"


def test_what_cannot_be_done_counts_zero_without_doubt() -> None:
    done = of_task("a", *[1, 0, 1, 1] * 10)
    cannot = of_task("b", "unsupported", "unsupported", prefix="t")
    found = in_group(done, cannot, counts_absent=True)
    assert (found.value, found.bounds_ci95) == (0.375, found.ci95)
    assert done.ci95 is not None
    assert found.ci95 == pytest.approx([end / 2 for end in done.ci95])


def test_the_interval_of_a_groups_bounds_covers_what_its_tasks_lost() -> None:
    whole = of_task("a", *[1, 0, 1, 1] * 10)
    lossy = of_task("b", *[1, 0, 1, 1] * 10, *["failed"] * 10, prefix="t")
    found = in_group(whole, lossy)
    assert found.ci95 is not None
    assert found.bounds_ci95 is not None
    assert found.bounds == (0.675, 0.775)
    assert found.bounds_ci95[0] < found.ci95[0]
    assert found.bounds_ci95[1] > found.ci95[1]


def test_a_member_that_is_no_mean_leaves_the_members_independent() -> None:
    averaged = of_task("a", *[1, 0, 1, 1] * 10)
    scores = column(*[i / 40 for i in range(40)])
    middle = summarise("b", "m", scores, median, bootstrap_iters=200)
    found = in_group(averaged, middle)
    assert averaged.stderr is not None
    assert middle.stderr is not None
    assert found.stderr == pytest.approx(math.hypot(averaged.stderr, middle.stderr) / 2)
    assert found.evidence is None
    assert found.ci95 is not None


def at_most(scores: Scores, *, cap: float = 0.75) -> Estimate:
    return Estimate(min(cap, max(scores.values)))


@pytest.mark.parametrize(
    ("scores", "aggregator", "value", "bounds"),
    [
        (column(None, "failed", range=(0, 5)), mean, None, (0, 5)),
        (column(3, None, range=OPEN), mean, 3, None),
        (column(3, range=OPEN), mean, 3, None),
        (column(0.5, None), at_most, 0.5, (0.5, 0.75)),
        (
            column(1, partly(0.5, 0.75), None),
            mean,
            1,
            (pytest.approx(1.5 / 3), pytest.approx(2.75 / 3)),
        ),
        (column(3, partly(1, 2), range=OPEN), mean, 3, (2, 2.5)),
        (column(1, None), lambda s: Estimate(1 - (mean(s).value or 0)), 0, (0, 0.5)),
        (column(0.5, Score.inapplicable("no sound"), None), mean, 0.5, (0.25, 0.75)),
    ],
    ids=[
        "all lost",
        "no range",
        "no range, none lost",
        "aggregator",
        "partly",
        "own range",
        "falls",
        "inapplicable",
    ],
)
def test_bounds_are_those_of_what_was_lost(
    scores: Scores, aggregator: Any, value: Any, bounds: Any
) -> None:
    found = summarise("t", "m", scores, aggregator)
    assert (found.value, found.bounds) == (value, bounds)


def test_a_breakdown_takes_rows_by_label_and_by_each_of_several_labels() -> None:
    labels: list[dict[str, Any]] = [
        {"level": "hard", "tags": ["a", "b"]},
        {"level": "easy", "tags": ["b", "b"]},
        {"tags": None},
    ]
    scores = column(1, 0, 0.5, labels=labels)
    found = {
        key: {level: part.values for level, part in scores.by_level(key).items()}
        for key in ("tags", "level")
    }
    assert found == {
        "tags": {"a": [1], "b": [1, 0]},
        "level": {"easy": [0], "hard": [1]},
    }
    assert list(scores.by_level("level")) == ["easy", "hard"]
    assert scores.by_level("none") == {}


def test_rows_of_a_slice_keep_bounds_and_what_could_not_be_asked() -> None:
    scores = column(
        0.5, partly(0.25, 0.5), labels=[{"level": "a"}, {"level": ["a", "b"]}]
    )
    scores.add("s2", 0, "failed", labels={"level": "b"}, faulty=True)
    assert {
        level: list(places) for level, places in scores.places("level").items()
    } == {"a": [0, 1], "b": [1, 2]}
    part = scores.by_level("level")["b"]
    assert [(row.sample, row.status, row.faulty) for row in part] == [
        ("s1", "unscored", False),
        ("s2", "failed", True),
    ]
    assert part.filled(1).values == [0.5, 1.0]
    assert [row.faulty for row in part.drawn([[1], [0]])] == [True, False]
    assert summarise("t", "m", part).bounds == (0.125, 0.75)


REFUSED = Score.refused("the judge refused")


def refusals() -> Scores:
    """An answer, a refused one that is scored, one left out, and a refused verdict."""
    scores = Scores(range=(0, 1))
    scores.add_value("a", 0, 1.0)
    scores.add_value("b", 0, 0.0, refused=True)
    scores.add("c", 0, REFUSED, refused=True)
    scores.add("d", 0, REFUSED)
    return scores


def test_refused_answers_and_verdicts_are_counted_apart() -> None:
    result = summarise("t", "m", refusals())
    counts = (result.refused, result.refused_unscored, result.refused_verdicts)
    assert counts == (2, 1, 1)


def test_what_is_unscored_by_a_refusal_moves_the_bounds() -> None:
    result = summarise("t", "m", refusals())
    assert (result.value, result.bounds) == (0.5, (0.25, 0.75))


def test_rows_of_a_slice_keep_which_answers_are_refused() -> None:
    result = summarise("t", "m", refusals().take([1, 3]))
    counts = (result.refused, result.refused_unscored, result.refused_verdicts)
    assert counts == (1, 0, 1)


def refused_whole(**counts: Any) -> Result:
    """A task of which no answer has a score."""
    return Result("b", "m", None, n=1, scored=0, bounds=(0, 1), **counts)


ONE = Result("a", "m", 0.5, n=3, scored=3, refused=1, bounds=(0.5, 0.5))


@pytest.mark.parametrize("counts_absent", [False, True])
@pytest.mark.parametrize("why", ["refused_verdicts", "refused_unscored"])
def test_a_task_whose_only_sample_is_refused_leaves_the_group_its_value(
    why: str, counts_absent: bool
) -> None:
    members = [ONE, refused_whole(unscored=1, **{why: 1})]
    found = combine(
        "g", "m", members, weight_by_size=False, counts_absent=counts_absent
    )
    assert (found.value, found.bounds, found.weights) == (0.5, (0.25, 0.75), {"a": 1})


@pytest.mark.parametrize(
    "counts",
    [{"unscored": 1}, {"failed": 1}, {"unscored": 2, "refused_verdicts": 1}],
    ids=["lost", "failed", "lost in part"],
)
def test_a_task_that_is_lost_for_another_reason_takes_the_value_of_the_group(
    counts: dict[str, int],
) -> None:
    members = [ONE, refused_whole(**counts)]
    assert combine("g", "m", members, weight_by_size=False).value is None


def test_a_group_adds_up_what_its_tasks_count() -> None:
    one = replace(ONE, no_option=2)
    check_group(one, replace(one, task="b"), refused=2, no_option=4, n=6)


def test_rows_of_a_slice_keep_which_answers_name_no_option() -> None:
    scores = Scores(range=(0, 1))
    for i, no_option in enumerate((True, False, True)):
        scores.add_value(f"s{i}", 0, 0.0, no_option=no_option)
    assert summarise("t", "m", scores.take([1, 2])).no_option == 1


def member(
    name: str,
    value: float | None,
    low: float | None = None,
    high: float | None = None,
    **more: Any,
) -> Result:
    """A task's result of ten trials, with bounds if given."""
    bounds = None if low is None or high is None else (low, high)
    return Result(
        name,
        "m",
        value,
        **{"n": 10, "scored": 10 if value is not None else 0, "bounds": bounds, **more},
    )


def check_group(
    *members: Result, by_size: bool = False, absent: bool = False, **expected: Any
) -> None:
    group = combine("g", "m", members, weight_by_size=by_size, counts_absent=absent)
    assert {name: getattr(group, name) for name in expected} == expected


KNOWN = member("a", 0.5, 0.5, 0.5, stderr=0.1)
EVEN = {"a": 0.5, "b": 0.5}
A_TENTH = pytest.approx(0.1)


def test_a_group_is_the_mean_of_its_tasks_or_weighted_by_their_trials() -> None:
    both = (
        member("a", 1.0, n=30, scored=30, stderr=0.1),
        member("b", 0.0, stderr=0.3, higher_is_better=False),
    )
    stderr = pytest.approx(math.hypot(0.1, 0.3) / 2)
    check_group(
        *both,
        value=0.5,
        stderr=stderr,
        weights=EVEN,
        n=40,
        scored=40,
        suspended=False,
        higher_is_better=False,
    )
    stderr = pytest.approx(math.hypot(30 * 0.1, 10 * 0.3) / 40)
    check_group(
        *both, by_size=True, value=0.75, stderr=stderr, weights={"a": 0.75, "b": 0.25}
    )


def test_the_interval_and_bounds_of_a_group_add_up_those_of_all_its_tasks() -> None:
    # Below: half of hypot(0.3, 0.4); above: half of hypot(0.1, 0.4).
    ci95 = pytest.approx((0.65 - 0.25, 0.65 + math.hypot(0.1, 0.4) / 2))
    check_group(
        member("a", 0.8, ci95=(0.5, 0.9)), member("b", 0.5, ci95=(0.1, 0.9)), ci95=ci95
    )
    check_group(
        member("a", 0.5, 0.4, 0.6),
        member("b", 0.7, 0.6, 1.0),
        bounds=pytest.approx((0.5, 0.8)),
    )
    check_group(KNOWN, member("b", 0.7), stderr=None, ci95=None, bounds=None)


def test_lost_and_bad_trials_do_not_move_the_weights_and_what_could_not_be_asked_weighs_nothing() -> (
    None
):
    lost = member("a", 1.0, n=30, scored=10, failed=20)
    some = member("b", 0.0, n=50, scored=10, unsupported=30, unavailable=10)
    check_group(
        lost, some, by_size=True, value=0.75, failed=20, unsupported=30, unavailable=10
    )
    bad = member("a", 1.0, 1 / 3, 1.0, n=30, scored=10, failed=20, faulty=20)
    as_if_all_were_asked = pytest.approx((0.25, 0.75))
    check_group(
        bad,
        member("b", 0.0, 0.0, 0.0),
        by_size=True,
        value=0.5,
        weights=EVEN,
        faulty=20,
        bounds=as_if_all_were_asked,
    )


def test_a_task_without_a_value_leaves_a_group_unknown_unless_nothing_of_it_could_be_asked_or_scored() -> (
    None
):
    bad = member("b", None, 0.0, 1.0, failed=10, faulty=10)
    lost = replace(bad, faulty=0)
    check_group(
        KNOWN,
        bad,
        value=0.5,
        stderr=A_TENTH,
        weights={"a": 1.0},
        n=20,
        failed=10,
        bounds=(0.25, 0.75),
    )
    check_group(KNOWN, lost, value=None, stderr=None, bounds=(0.25, 0.75), failed=10)
    check_group(
        KNOWN,
        member("b", None, unsupported=10),
        value=0.5,
        stderr=A_TENTH,
        bounds=(0.5, 0.5),
        unsupported=10,
    )
    check_group(member("a", None), by_size=True, value=None, stderr=None, ci95=None)
    heard = member("a", 0.5, 0.5, 0.5, scored=4, inapplicable=6)
    silent = member("b", None, inapplicable=10)
    other = member("c", 1.0, 1.0, 1.0, n=4, scored=4)
    weights = {"a": 0.5, "c": 0.5}
    check_group(
        heard,
        silent,
        other,
        by_size=True,
        value=0.75,
        weights=weights,
        inapplicable=16,
        bounds=(0.75, 0.75),
    )


def test_where_absent_counts_what_a_model_cannot_do_is_zero_and_all_else_stays_unknown() -> (
    None
):
    """The published rule of a mean over abilities: 68.05, 69.62, 87.61 and three
    without any give 37.55 of 6."""
    done = [
        member(name, value, value, value, stderr=0.0)
        for name, value in (("a", 0.6805), ("b", 0.6962), ("c", 0.8761))
    ]
    cannot = [
        member("d", None, unsupported=10),
        member("e", None, unsupported=10),
    ]
    bad_too = member("f", None, 0.0, 1.0, unsupported=8, failed=2, faulty=2)
    value = pytest.approx(2.2528 / 6)
    check_group(
        *done,
        *cannot,
        bad_too,
        absent=True,
        value=value,
        bounds=(value, value),
        stderr=0.0,
        unsupported=28,
    )
    check_group(*cannot, absent=True, value=0.0, ci95=(0.0, 0.0), bounds=(0.0, 0.0))
    bigger = member("b", None, n=30, unsupported=30)
    check_group(
        KNOWN,
        bigger,
        absent=True,
        by_size=True,
        value=0.125,
        weights={"a": 0.25, "b": 0.75},
    )
    check_group(
        KNOWN,
        member("b", None, 0.0, 1.0, failed=10),
        absent=True,
        value=None,
        bounds=(0.25, 0.75),
    )
    check_group(
        member("a", None, n=0), absent=True, by_size=True, value=None, bounds=None
    )
    for unknown in (
        {"unavailable": 10},
        {"inapplicable": 10},
        {"unsupported": 5, "inapplicable": 5},
        {"n": 0},
    ):
        check_group(
            KNOWN,
            *cannot,
            member("b", None, **unknown),
            absent=True,
            value=None,
            stderr=None,
            bounds=None,
        )


def test_a_group_with_suspended_scoring_has_no_number() -> None:
    scores = column(1, 0, None)
    members = [summarise("t", "m", scores), summarise("u", "m", scores, suspended=True)]
    group = combine("g", "m", members, weight_by_size=False)
    assert (group.value, group.stderr, group.ci95, group.suspended) == (
        None,
        None,
        None,
        True,
    )
    assert (group.unscored, group.bounds) == (2, pytest.approx((1 / 3, 2 / 3)))
