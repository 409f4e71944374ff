import math
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

from mmeval.comparison.changes import Change
from mmeval.comparison.compare import Comparison, compare
from mmeval.comparison.number import ComparedNumber
from mmeval.comparison.text import comparison_text
from mmeval.errors import MissingDataError, UsageError
from tests.support.stored_runs import Json, WrittenTrial, rewritten, text, write_run

METRIC: Json = {
    "outputs": ["right"],
    "range": [0, 1],
    "version": "1",
    "aggregation": "mean",
}

ALL_OF_TWELVE = pytest.approx(2 * norm.sf(12**0.5))
"""The p of twelve pairs that are all won: their score is the root of 12."""

JUDGED_BY: Json = {"told": [{"role": "judge", "served": "j-2"}]}


def of_metric(**changes: Any) -> Json:
    """What a results file has of the metric."""
    return {"metrics": {"told": {"right": {**METRIC, **changes}}}}


def told(value: float | None, place: int, **more: Any) -> WrittenTrial:
    """A sample with this score; None: the metric gave none."""
    score: Json = {"value": value, "status": "unscored" if value is None else "scored"}
    return WrittenTrial(
        [text("?")],
        [text("!")],
        {"right": score},
        sample=f"s{place}",
        place=place,
        **more,
    )


def failed(place: int) -> WrittenTrial:
    return replace(
        told(None, place),
        answer=None,
        scores={},
        error={"kind": "timeout", "message": "late"},
    )


def values(found: Iterable[float], **more: Any) -> list[WrittenTrial]:
    return [told(value, place, **more) for place, value in enumerate(found)]


def run(
    folder: Path,
    trials: Sequence[WrittenTrial],
    *,
    metric: Mapping[str, Any] = {},
    **ours: Any,
) -> Path:
    results = of_metric(**metric) | ours
    return write_run(folder, trials, results=results, model=folder.name)


def two(
    folder: Path, a: Sequence[WrittenTrial], b: Sequence[WrittenTrial], **ours: Any
) -> tuple[Path, Path]:
    return run(folder / "a", a, **ours), run(folder / "b", b, **ours)


def one(found: Comparison) -> ComparedNumber:
    (number,) = found.numbers
    return number


def compared(
    folder: Path, a: Sequence[WrittenTrial], b: Sequence[WrittenTrial], **options: Any
) -> ComparedNumber:
    return one(compare(*two(folder, a, b), **options))


def lost(count: int) -> list[WrittenTrial]:
    return [failed(place) for place in range(count)]


GATES: list[dict[str, float]] = [{"fail_if_worse": 0.0}, {"fail_unless_within": 0.3}]


def reasons(found: Comparison) -> list[str]:
    assert found.gate is not None
    return [row["reason"] for row in found.gate.failed]


LOWER_IS_BETTER: Json = {
    "task": "told",
    "metric": "right",
    "value": 0.5,
    "n": 8,
    "scored": 8,
    "higher_is_better": False,
}


def test_a_difference_is_that_of_the_other_run_from_the_first(tmp_path: Path) -> None:
    number = compared(tmp_path, values([0.0] * 12), values([1.0] * 12))
    assert (number.a, number.b, number.difference) == (0.0, 1.0, 1.0)
    assert (number.pairs, number.clusters) == (12, 12)
    assert (number.run, number.verdict, number.bounds) == ("b", "better", (1.0, 1.0))
    assert number.p == ALL_OF_TWELVE
    back = one(compare(tmp_path / "b", tmp_path / "a"))
    assert (back.difference, back.verdict) == (-1.0, "worse")


def imported_by(*modules: str) -> set[str]:
    """Returns the modules that a new process has imported after these."""
    program = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_a_comparison_does_not_import_scipy_stats() -> None:
    # it takes longer than the comparison of ten thousand pairs
    assert "scipy.stats" not in imported_by("mmeval.comparison.text")


def test_a_page_of_runs_without_a_layout_does_not_import_layouts() -> None:
    # pydantic and the layouts took a third of the imports of a comparison
    imported = imported_by("mmeval.comparison.page")
    assert not imported & {"pydantic", "mmeval.report.layouts.made"}


def test_a_comparison_of_run_folders_does_not_import_what_reads_boards_and_media() -> (
    None
):
    imported = imported_by("mmeval.comparison.compare", "mmeval.comparison.page")
    assert not imported & {"yaml", "mmeval.run.availability", "mmeval.backend.routes"}


def test_trials_are_paired_by_name_whatever_their_order(tmp_path: Path) -> None:
    scores = [0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    turned = [
        replace(one, place=7 - at, digest=f"{at:032x}")
        for at, one in enumerate(values(scores))
    ]
    number = compared(tmp_path, values(scores), turned[::-1])
    assert (number.pairs, number.left_out) == (8, {})
    assert (number.difference, number.stderr) == (0.0, 0.0)


def test_what_one_run_lacks_leaves_the_pair_and_widens_the_bounds(
    tmp_path: Path,
) -> None:
    a = values([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    a[3] = told(None, 3)
    b = [told(1.0, 0), failed(1), told(1.0, 2), told(1.0, 3), told(0.0, 4)]
    number = compared(tmp_path, a, b)
    assert number.pairs == 3
    assert number.bounds == pytest.approx(((3 - 5) / 6, (4 - 3) / 6))
    assert "turn" not in number.why
    other = one(compare(tmp_path / "a", run(tmp_path / "c", b[:4])))
    assert (other.difference, "reverse the sign" in other.why) == (0.5, True)


def test_an_unscored_trial_has_bounds_of_its_own(tmp_path: Path) -> None:
    known = told(None, 1)
    known.scores["right"]["bounds"] = [0.5, 0.75]
    number = compared(tmp_path, [told(0.0, 0), told(0.0, 1)], [told(0.0, 0), known])
    assert number.bounds == (0.25, 0.375)


def test_another_prompt_is_unlike_and_a_changed_sample_in_no_pair(
    tmp_path: Path,
) -> None:
    a = values([1.0] * 4)
    changed = [replace(one, digest=f"{at + 9:032x}") for at, one in enumerate(a)]
    number = compared(tmp_path, a, changed)
    assert (number.verdict, number.left_out) == ("unlike", {"asked_otherwise": 4})
    other = one(compare(tmp_path / "a", run(tmp_path / "c", [changed[0], *a[1:]])))
    assert (other.pairs, other.left_out) == (3, {"asked_otherwise": 1})


@pytest.mark.parametrize(
    ("changes", "aspect"),
    [
        ({"protocols": {"told": "episode"}}, "protocol"),
        ({"metric": {"version": "2"}}, "definition"),
        ({"not_comparable": ["told"]}, ""),
    ],
    ids=["protocol", "definition", "data"],
)
def test_numbers_made_in_another_way_are_compared_only_across_it(
    changes: dict[str, Any], aspect: str, tmp_path: Path
) -> None:
    runs = (
        run(tmp_path / "a", values([0.0] * 8)),
        run(tmp_path / "b", values([1.0] * 8), **changes),
    )
    found = compare(*runs)
    assert one(found).why
    assert (one(found).verdict, one(found).p, found.exit_code) == ("unlike", None, 3)
    across = compare(*runs, across=aspect or "judge,definition,protocol")
    assert one(across).verdict == ("better" if aspect else "unlike")


def test_repeats_of_a_sample_are_one_cluster(tmp_path: Path) -> None:
    trials = [
        told(1.0, place, repeat=repeat) for place in range(8) for repeat in range(2)
    ]
    asked = {"asked": {"told": {"repeats": 2, "samples": None}}}
    found = compare(*two(tmp_path, trials, trials, **asked))
    assert (one(found).pairs, one(found).clusters) == (16, 8)
    fewer = compare(
        tmp_path / "a",
        run(tmp_path / "c", trials, asked={"told": {"repeats": 1, "samples": None}}),
    )
    assert (one(fewer).pairs, one(fewer).left_out) == (8, {"not_asked": 8})


@pytest.mark.parametrize(
    ("weights", "difference"),
    [((1, 3), 0.75), ((0, 0), None)],
    ids=["weighed", "weightless"],
)
def test_a_weighted_mean_counts_what_stands_behind_a_score(
    weights: tuple[int, int], difference: float | None, tmp_path: Path
) -> None:
    a, b = values([0.0] * 12), values([0.0, 1.0] * 6)
    for trial in (*a, *b):
        assert trial.place is not None
        trial.scores["right"]["weight"] = weights[trial.place % 2]
    runs = two(tmp_path, a, b, metric={"aggregation": "weighted_mean"})
    number = one(compare(*runs))
    assert number.difference == difference
    assert number.verdict == ("better" if difference else "no_pairs")


def test_a_lower_value_may_be_the_better_one(tmp_path: Path) -> None:
    a, b = values([1.0] * 8), values([0.0] * 8)
    runs = two(tmp_path, a, b, results=[LOWER_IS_BETTER])
    assert one(compare(*runs)).verdict == "better"
    assert compare(*runs, fail_if_worse=0.0).exit_code == 0
    assert compare(*runs[::-1], fail_if_worse=0.0).exit_code == 5


def test_slices_are_a_family_of_their_own(tmp_path: Path) -> None:
    def half(end: float) -> list[WrittenTrial]:
        return [
            told(end if at < 12 else 0.0, at, labels={"level": "ab"[at // 12]})
            for at in range(24)
        ]

    runs = two(tmp_path, half(0.0), half(1.0))
    found = {number.slice: number for number in compare(*runs, by="level").numbers}
    assert [(name, number.verdict, number.pairs) for name, number in found.items()] == [
        ("", "better", 24),
        ("level=a", "better", 12),
        ("level=b", "not_seen", 12),
    ]
    assert found[""].p_adjusted == ALL_OF_TWELVE
    assert found["level=a"].p_adjusted == pytest.approx(4 * norm.sf(12**0.5))
    with pytest.raises(UsageError, match="--by"):
        compare(*runs, by="colour")


def test_a_label_that_is_no_breakdown_makes_slices_too(tmp_path: Path) -> None:
    trials = [
        told(1.0, at, metadata={"colour": ["red", "blue"] if at else "red"})
        for at in range(4)
    ]
    found = compare(*two(tmp_path, trials, trials), by="colour")
    counts = {number.slice: number.pairs for number in found.numbers}
    assert counts == {"": 4, "colour=blue": 3, "colour=red": 4}


@pytest.mark.parametrize(
    ("gate", "code", "why"),
    [
        ({"fail_if_worse": 0.2}, 5, ["worse"]),
        ({"fail_if_worse": 0.9}, 0, []),
        ({"fail_unless_within": 0.2}, 5, ["worse"]),
        ({"fail_unless_within": 0.95}, 0, []),
    ],
    ids=str,
)
def test_a_gate_shuts_on_what_is_surely_worse_or_not_surely_within(
    gate: dict[str, Any], code: int, why: list[str], tmp_path: Path
) -> None:
    a, b = values([1.0] * 40), values([1.0, 0.0, 0.0, 0.0] * 10)
    found = compare(*two(tmp_path, a, b), **gate)
    assert (found.exit_code, reasons(found)) == (code, why)


def test_a_gate_that_could_not_see_its_margin_says_so(tmp_path: Path) -> None:
    right = values([1.0] * 8)
    runs = two(tmp_path, right, right)
    unsure = compare(*runs, fail_if_worse=0.01).gate
    assert unsure is not None and unsure.passed
    assert [place["task"] for place in unsure.too_weak] == ["told"]
    shut = compare(*runs, fail_unless_within=0.01)
    assert (shut.exit_code, one(shut).verdict) == (5, "not_seen")
    assert shut.gate is not None and len(shut.gate.too_weak) == 1
    enough = values([1.0] * 400)
    passed = compare(*two(tmp_path / "many", enough, enough), fail_unless_within=0.01)
    assert (passed.exit_code, one(passed).verdict) == (0, "within")
    assert passed.gate is not None and passed.gate.too_weak == ()


@pytest.mark.parametrize("gate", GATES, ids=["worse", "within"])
def test_a_run_that_lost_half_of_its_trials_passes_no_gate(
    gate: dict[str, Any], tmp_path: Path
) -> None:
    whole = values([1.0] * 100)
    half = [*lost(50), *whole[50:]]
    found = compare(*two(tmp_path, whole, half), **gate)
    assert (found.exit_code, reasons(found)) == (5, ["lost"])


@pytest.mark.parametrize("gate", GATES, ids=["worse", "within"])
def test_a_reference_that_lost_half_of_its_trials_is_no_excuse(
    gate: dict[str, Any], tmp_path: Path
) -> None:
    whole = values([0.0] * 100)
    half = [*lost(50), *whole[50:]]
    found = compare(*two(tmp_path, half, whole), **gate)
    assert (found.exit_code, reasons(found)) == (5, ["lost"])


@pytest.mark.parametrize("gate", GATES, ids=["worse", "within"])
def test_one_lost_verdict_of_a_thousand_fails_no_gate(
    gate: dict[str, Any], tmp_path: Path
) -> None:
    whole = values([1.0] * 1_000)
    other = [told(None, 0), *whole[1:]]
    found = compare(*two(tmp_path, whole, other), **gate)
    assert (found.exit_code, one(found).left_out) == (0, {"unscored": 1})


@pytest.mark.parametrize("gate", GATES, ids=["worse", "within"])
@pytest.mark.parametrize(("count", "code"), [(1, (0, 5)), (50, (5, 5))])
def test_lost_scores_without_a_range_are_counted(
    gate: dict[str, Any], count: int, code: tuple[int, int], tmp_path: Path
) -> None:
    whole = values([0.0, 1.0] * 50)
    part = [*lost(count), *whole[count:]]
    found = compare(*two(tmp_path, whole, part, metric={"range": None}), **gate)
    assert found.exit_code == code["fail_unless_within" in gate]


def test_a_lost_trial_with_bounds_of_its_own_is_within_them(tmp_path: Path) -> None:
    scores = values([0.5] * 40)
    known = told(None, 0)
    known.scores["right"]["bounds"] = [0.5, 0.5]
    runs = two(tmp_path, scores, [known, *scores[1:]], metric={"range": None})
    found = compare(*runs, fail_if_worse=0.0)
    assert (found.exit_code, reasons(found)) == (0, [])


def test_where_a_lower_value_is_better_the_worst_one_is_the_highest(
    tmp_path: Path,
) -> None:
    whole = values([0.0] * 40)
    half = [*lost(20), *whole[20:]]
    runs = two(tmp_path, whole, half, results=[LOWER_IS_BETTER])
    assert reasons(compare(*runs, fail_if_worse=0.0)) == ["lost"]
    zero = one(compare(*runs, failed="zero"))
    assert (zero.difference, zero.verdict) == (0.5, "worse")


@pytest.mark.parametrize("gate", GATES, ids=["worse", "within"])
def test_a_gate_over_nothing_is_not_passed(
    gate: dict[str, Any], tmp_path: Path
) -> None:
    found = compare(*two(tmp_path, values([1.0] * 8), lost(8)), **gate)
    assert (found.exit_code, reasons(found)) == (5, ["untested"])


@pytest.mark.parametrize("gate", GATES, ids=["worse", "within"])
def test_a_number_fails_a_gate_that_the_run_lacks_and_none_that_only_it_has(
    gate: dict[str, Any], tmp_path: Path
) -> None:
    def of(folder: str, *names: str) -> Path:
        trials = values([1.0] * 200)
        for trial in trials:
            trial.scores = {name: {"value": 1.0, "status": "scored"} for name in names}
        counts = {"value": 1.0, "n": 200, "scored": 200}
        metrics = {name: {**METRIC, "outputs": [name]} for name in names}
        rows = [{"task": "told", "metric": name, **counts} for name in names]
        results = {"metrics": {"told": metrics}, "results": rows}
        return write_run(tmp_path / folder, trials, results=results, model=folder)

    fewer, more = of("a", "right"), of("b", "right", "other")
    wanted: dict[str, Any] = {"metrics": "right,other", **gate}
    lacking = compare(more, fewer, **wanted)
    assert (lacking.exit_code, reasons(lacking)) == (5, ["untested"])
    extra = compare(fewer, more, **wanted)
    assert (extra.exit_code, reasons(extra)) == (3, [])


def test_what_is_worse_over_the_pairs_is_not_called_lost(tmp_path: Path) -> None:
    worse = [failed(0), *values([0.0] * 40)[1:]]
    runs = two(tmp_path, values([1.0] * 40), worse)
    for gate in GATES:
        assert reasons(compare(*runs, **gate)) == ["worse"]  # type: ignore[arg-type]


def test_a_loss_that_few_samples_leave_in_doubt_is_not_shown_to_be_within(
    tmp_path: Path,
) -> None:
    a, b = values([1.0, 0.0] * 6), values([1.0, 0.0] * 5 + [0.0, 0.0])
    found = compare(*two(tmp_path, a, b), fail_unless_within=0.1)
    assert reasons(found) == ["not_shown"]


def test_a_gate_is_not_passed_by_samples_too_few_for_any_finding(
    tmp_path: Path,
) -> None:
    runs = two(tmp_path, values([1.0] * 5), values([0.0] * 5))
    found = compare(*runs, fail_if_worse=0.0)
    assert (found.exit_code, reasons(found)) == (5, ["untested"])


def test_whether_a_run_passes_does_not_depend_on_the_others(tmp_path: Path) -> None:
    whole = run(tmp_path / "a", values([1.0] * 6))
    others = [run(tmp_path / name, values([0.0] * 6)) for name in "bcd"]
    alone = compare(whole, others[0], fail_if_worse=0.0)
    together = compare(whole, *others, fail_if_worse=0.0)
    assert (reasons(alone), reasons(together)) == (["worse"], ["worse"] * 3)
    assert "of c" in " ".join(comparison_text(together, 80).split())


def test_a_failed_answer_counts_as_the_lowest_score_where_it_is_said_so(
    tmp_path: Path,
) -> None:
    whole = values([1.0] * 10)
    runs = two(tmp_path, whole, [failed(0), *whole[1:]])
    found = compare(*runs, failed="zero")
    assert (one(found).pairs, one(found).difference) == (10, pytest.approx(-0.1))
    assert found.changes.counted
    assert not compare(*runs).changes.counted


def test_a_sample_that_could_not_be_asked_is_no_failure_of_the_model(
    tmp_path: Path,
) -> None:
    whole, other = two(tmp_path, values([1.0]), [failed(0)])
    assert one(compare(whole, other, failed="zero")).pairs == 1
    (scores,) = other.rglob("scores.jsonl")
    rewritten(scores, error={"kind": "bad_sample", "message": "no file"})
    assert one(compare(whole, other, failed="zero")).pairs == 0


def of_metrics(
    folder: Path, b: Mapping[str, Sequence[float]], range: Sequence[float] | None
) -> list[Path]:
    """Two runs of several metrics, by which the first one has zeros."""
    metrics = {name: {**METRIC, "outputs": [name], "range": range} for name in b}
    count = len(next(iter(b.values())))
    rows = [
        {"task": "told", "metric": name, "value": 0.5, "n": count, "scored": count}
        for name in b
    ]
    runs = []
    for run_name, scale in (("a", 0.0), ("b", 1.0)):
        trials = values([0.0] * count)
        for at, trial in enumerate(trials):
            for name, found in b.items():
                trial.scores[name] = {"value": scale * found[at], "status": "scored"}
        results = {"metrics": {"told": metrics}, "results": rows}
        runs.append(
            write_run(folder / run_name, trials, results=results, model=run_name)
        )
    return runs


def six_of_forty(folder: Path) -> list[Path]:
    """By the first of five metrics the second run is right in six of forty samples, by
    the others it equals the first run."""
    equal = [0.0] * 40
    others = dict.fromkeys(("other", "third", "fourth", "fifth"), equal)
    return of_metrics(folder, {"right": [1.0] * 6 + [0.0] * 34, **others}, [0, 1])


def test_an_interval_that_leaves_out_0_without_a_find_says_why(tmp_path: Path) -> None:
    runs = six_of_forty(tmp_path)
    alone = one(compare(*runs, metrics="right"))
    assert (alone.verdict, alone.why) == ("better", "")
    found = compare(*runs, metrics="all").numbers[0]
    assert found.ci95 is not None and found.ci95[0] > 0
    assert (found.verdict, "several tests" in found.why) == ("not_seen", True)


@pytest.mark.parametrize(
    ("alpha", "won", "verdict", "words"),
    [
        (0.001, 6, "not_seen", "excludes 0, but p is not below --alpha 0.001"),
        (
            0.2,
            3,
            "better",
            "p is below --alpha 0.2, though its 95 % interval contains 0",
        ),
    ],
)
def test_another_level_than_that_of_the_interval_is_the_reason_where_they_part(
    alpha: float, won: int, verdict: str, words: str, tmp_path: Path
) -> None:
    a, b = values([0.0] * 40), values([1.0] * won + [0.0] * (40 - won))
    number = compared(tmp_path, a, b, alpha=alpha)
    assert number.verdict == verdict
    assert words in number.why


def test_simultaneous_intervals_share_the_five_percent(tmp_path: Path) -> None:
    found = compare(*six_of_forty(tmp_path), metrics="all", simultaneous=True)
    number = found.numbers[0]
    assert number.test is not None
    assert number.ci95 == number.test.interval(0.05 / 5)
    assert number.ci95 is not None and number.ci95[0] <= 0
    assert (number.verdict, number.why) == ("not_seen", "")
    assert "hold jointly" in comparison_text(found, 80)


def test_a_find_may_have_a_simultaneous_interval_that_holds_0(tmp_path: Path) -> None:
    runs = six_of_forty(tmp_path)
    found = compare(*runs, metrics="all", correction="none", simultaneous=True)
    number = found.numbers[0]
    assert (number.verdict, "contains 0" in number.why) == ("better", True)


def test_too_few_clusters_for_simultaneous_intervals_are_the_reason_for_none(
    tmp_path: Path,
) -> None:
    spread = [1 + at / 10 for at in range(6)]
    metrics = dict.fromkeys(("right", "other", "third"), spread)
    runs = of_metrics(tmp_path, metrics, None)
    single = compare(*runs, metrics="all").numbers[0]
    assert single.ci95 is not None
    together = compare(*runs, metrics="all", simultaneous=True).numbers[0]
    assert (together.ci95, "simultaneous" in together.why) == (None, True)


@pytest.mark.parametrize(
    ("ends", "reason"), [((1.0, 0.0), "worse"), ((0.0, 1.0), "not_shown")]
)
def test_a_run_that_is_surely_beyond_equality_lacks_no_samples(
    ends: tuple[float, float], reason: str, tmp_path: Path
) -> None:
    a, b = (values([1.0] * 50 + [end] * 50) for end in ends)
    found = compare(*two(tmp_path, a, b), fail_unless_equal=0.1)
    assert reasons(found) == [reason]
    assert found.gate is not None
    assert found.gate.too_weak == ()


def test_a_better_run_is_within_a_margin_but_not_equal(tmp_path: Path) -> None:
    scores = values([0.0, 1.0] * 200)
    better = values([1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0] * 40)
    runs = two(tmp_path, scores, better)
    found = compare(*runs, fail_unless_equal=0.05)
    assert (one(found).verdict, found.exit_code) == ("better", 5)
    assert found.gate is not None and found.gate.name == "fail_unless_equal"
    assert compare(*runs, fail_unless_within=0.05).exit_code == 0
    same = compare(runs[0], run(tmp_path / "c", scores), fail_unless_equal=0.05)
    assert (one(same).verdict, same.exit_code) == ("within", 0)
    equivalence = same.to_json()["numbers"][0]["equivalence_p"]
    assert 0 < equivalence < 0.025


def test_within_a_margin_is_what_the_printed_interval_is(tmp_path: Path) -> None:
    equal = [0.0] * 200
    names = ("right", "other", "third", "fourth", "fifth")
    runs = of_metrics(tmp_path, dict.fromkeys(names, equal), [0, 1])
    margin = 0.02
    single, together = (
        compare(*runs, metrics="all", fail_unless_within=margin, simultaneous=answer)
        for answer in (False, True)
    )
    assert single.numbers[0].verdict == "within"
    interval = together.numbers[0].ci95
    assert interval is not None and interval[1] > margin
    assert together.numbers[0].verdict == "not_seen"
    # a gate keeps the interval of a single number
    assert together.gate is not None and together.gate.passed


def test_a_gate_corrects_slices_apart_as_the_verdicts_do(tmp_path: Path) -> None:
    def half(end: float) -> list[WrittenTrial]:
        return [
            told(1.0 if at >= 6 else end, at, labels={"level": at % 8})
            for at in range(80)
        ]

    runs = two(tmp_path, half(1.0), half(0.0))
    found = compare(*runs, by="level", fail_if_worse=0.0)
    assert found.numbers[0].verdict == "worse"
    assert (found.exit_code, reasons(found)[:1]) == (5, ["worse"])


def judged(folder: Path, judge: str, trials: Sequence[WrittenTrial]) -> Path:
    judges = {"told": [{"role": "judge", "served": judge}]}
    return run(folder, trials, metric={"judged": True}, judges=judges)


def test_the_shift_of_a_judge_is_measured_on_equal_answers_alone(
    tmp_path: Path,
) -> None:
    scores = [(at * 7 % 11) / 20 for at in range(60)]
    mine, others = (
        [
            replace(told(score, at), answer=[text(f"{at} {name if at % 2 else ''}")])
            for at, score in enumerate(scores)
        ]
        for name in ("mine", "other")
    )
    for at, trial in enumerate(others):
        trial.scores["right"]["value"] += 0.3 + (
            0.2 if at % 2 else 0.01 * (-1) ** (at // 2)
        )
    first = judged(tmp_path / "a", "j-1", mine)
    found = one(compare(first, judged(tmp_path / "b", "j-2", others)))
    shift = found.judge_shift
    assert shift is not None and shift["pairs"] == 30
    assert shift["ci95"][0] < 0.3 < shift["ci95"][1]
    assert shift["rest"]["difference"] == pytest.approx(0.5)
    unequal = [
        replace(trial, answer=[text(f"new {at}")]) for at, trial in enumerate(others)
    ]
    other = judged(tmp_path / "c", "j-2", unequal)
    assert one(compare(first, other, across="judge")).judge_shift is None


def test_what_changed_is_named_and_the_rest_is_the_same(tmp_path: Path) -> None:
    runs = (
        run(tmp_path / "a", values([1.0])),
        run(tmp_path / "b", values([1.0]), protocols={"told": "episode"}),
    )
    changes = compare(*runs).changes
    model, protocol = (
        Change("model", "b", "a", "b"),
        Change("protocol", "b", "single", "episode"),
    )
    assert changes.changed == (model, protocol)
    assert set(changes.same) == {
        "weights",
        "generation",
        "prompts",
        "version",
        "data",
        "judge",
        "definition",
    }


@pytest.mark.parametrize(
    ("change", "what", "values"),
    [
        (
            {"identity": {"model": {"weights": "b"}}},
            "weights",
            ("a", "b"),
        ),
        (
            {"identity": {"model": {"weights": "a"}, "seed": 1}},
            "generation",
            ("seed none", "seed 1"),
        ),
        (
            {"config": {"generation_kwargs": {"temperature": 1}}},
            "generation",
            ("none", "temperature"),
        ),
        (
            {"config": {"prompt": "Well: {{ input }}"}},
            "prompts",
            ("none", "Well: {{ input }}"),
        ),
        ({"config": {"dataset_path": "other"}}, "data", ("none", "other")),
        (
            {"results": of_metric(judged=True) | {"judges": JUDGED_BY}},
            "judge",
            ("none", "j-2"),
        ),
        (
            {"results": of_metric(switches={"strict": True})},
            "definition",
            ("strict none", "strict true"),
        ),
    ],
    ids=["weights", "seed", "parameters", "prompts", "data", "judge", "definition"],
)
def test_each_thing_that_changed_has_its_name(
    change: dict[str, Any], what: str, values: tuple[str, str], tmp_path: Path
) -> None:
    before: dict[str, Any] = {"identity": {"model": {"weights": "a"}}, "model": "m"}
    before["results"] = of_metric()
    trials = [told(1.0, 0)]
    runs = [
        write_run(tmp_path / name, trials, **given)
        for name, given in (("a", before), ("b", {**before, **change}))
    ]
    (found,) = compare(*runs).changes.changed
    assert found.what == what
    assert values[0] in found.before
    assert values[1] in found.now


def test_no_word_stands_for_itself_and_nothing_for_nothing(tmp_path: Path) -> None:
    runs = [
        write_run(
            tmp_path / name,
            values([1.0]),
            results=of_metric(),
            config={"generation_kwargs": options},
            model="m",
            identity={"model": {"weights": weights}},
        )
        for name, weights, options in (("a", "", {}), ("b", "0123456789", None))
    ]
    (change,) = compare(*runs).changes.changed
    assert change == Change("weights", "m (b)", "none", "0123456789")


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ({"unfinished": {"told": {"made": 3, "of": 4}}}, "trials so far: 3 of 4"),
        ({"unfinished": {"told": {"made": 3, "of": None}}}, "trials so far: 3"),
        ({"asked": {"told": {"repeats": 1, "samples": [[0, 2]]}}}, "samples: 3"),
        (
            {
                "asked": {"told": {"repeats": 1, "samples": [[0, 2]]}},
                "subset": {"told": {"chosen": 3, "of": 4, "how": ["limit"]}},
            },
            "samples: 3 of 4 (limit)",
        ),
    ],
    ids=["unfinished", "unfinished of unknown", "named", "limit"],
)
def test_a_part_of_the_samples_is_no_change_of_the_data(
    ours: dict[str, Any], words: str, tmp_path: Path
) -> None:
    asked = {"told": {"repeats": 1, "samples": None}}
    whole = run(tmp_path / "a", values([1.0] * 4), asked=asked)
    part = run(tmp_path / "b", values([1.0] * 3), **{"asked": asked, **ours})
    _, change = compare(whole, part).changes.changed
    assert change == Change("subset", "b", "all samples", words)


def test_samples_that_a_whole_run_lacks_are_a_change_of_the_data(
    tmp_path: Path,
) -> None:
    runs = two(tmp_path, values([1.0] * 4), values([1.0] * 3))
    _, change = compare(*runs).changes.changed
    assert change == Change("data", "b", "samples: 4", "samples: 3")


def test_long_prompts_are_shown_from_the_first_word_that_differs(
    tmp_path: Path,
) -> None:
    before, now = (f"{'Look at the picture. ' * 20}Say {word}." for word in ("a", "b"))
    runs = [
        write_run(
            tmp_path / name,
            values([1.0]),
            results=of_metric(),
            config={"prompt": prompt},
            model="m",
        )
        for name, prompt in (("a", before), ("b", now))
    ]
    (change,) = compare(*runs).changes.changed
    assert change == Change("prompts", "m (b)", "…a.", "…b.")


def test_a_reason_names_the_run_that_it_concerns(tmp_path: Path) -> None:
    a = [told(1.0, 0), failed(1), told(None, 2), told(1.0, 3), told(1.0, 5)]
    b = [told(1.0, 0), failed(1), told(1.0, 2), failed(3), told(1.0, 4)]
    number = compared(tmp_path, a, b)
    assert number.left_out == {"failed": 2, "unscored": 1, "not_asked": 2}
    assert number.lacking == {
        "a": {"failed": 1, "unscored": 1, "not_asked": 1},
        "b": {"failed": 2, "not_asked": 1},
    }


def test_other_words_are_compared_only_across_the_prompts(tmp_path: Path) -> None:
    a = values([1.0] * 4)
    b = [
        replace(one, digest=f"{at + 9:032x}", asked=[text("Well?")])
        for at, one in enumerate(a)
    ]
    b[0] = replace(b[0], references=[[text("another right answer")]])
    across = compared(tmp_path, a, b, across=["prompts"])
    assert (across.pairs, across.left_out) == (3, {"asked_otherwise": 1})


def test_the_samples_needed_are_there_where_a_difference_is_to_be_seen(
    tmp_path: Path,
) -> None:
    runs = two(tmp_path, values([1.0] * 8), values([1.0] * 7 + [0.0]))
    found = compare(*runs, detect=0.05)
    assert (one(found).samples_needed or 0) > 8
    assert "samples_needed" in found.to_json()["numbers"][0]
    assert "samples_needed" not in compare(*runs).to_json()["numbers"][0]


def test_a_steady_gain_that_rare_losses_could_outweigh_is_noted(
    tmp_path: Path,
) -> None:
    a = values([0.5] * 40)
    b = values(0.51 + place / 10_000 for place in range(40))
    number = compared(tmp_path, a, b)
    assert number.verdict == "not_seen"
    assert "could outweigh it" in number.why


def test_refused_answers_are_counted_of_each_run(tmp_path: Path) -> None:
    right, refused = values([1.0] * 8), values([0.0] * 3, refused=True)
    found = compare(*two(tmp_path, right, [*refused, *right[3:]]))
    assert one(found).to_json(needed=False)["refused"] == {"a": 0, "b": 3}
    assert "refused 0/8 in a, 3/8 in b" in comparison_text(found, 80)


def test_refused_answers_are_counted_by_slice(tmp_path: Path) -> None:
    levels = [{"level": "easy" if place < 4 else "hard"} for place in range(8)]
    trials = [
        told(1.0, place, labels=levels[place], refused=place < 2) for place in range(8)
    ]
    found = compare(*two(tmp_path, trials, trials), by="level")
    counts = {number.slice: number.refused["a"] for number in found.numbers}
    assert counts == {"": 2, "level=easy": 2, "level=hard": 0}


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["rihgt"]},
        {"tasks": ["tld"]},
        {"across": ["model"]},
        {"correction": "bonferroni"},
        {"alpha": 5},
        {"detect": 0},
        {"fail_if_worse": -1},
        {"failed": "one"},
        {"fail_unless_within": math.nan},
        {"fail_if_worse": 0.0, "fail_unless_within": 0.1},
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_refused(
    options: dict[str, Any], tmp_path: Path
) -> None:
    runs = two(tmp_path, values([1.0]), values([1.0]))
    with pytest.raises(UsageError, match="--"):
        compare(*runs, **options)


def test_a_run_that_is_not_there_or_has_no_results_is_refused(tmp_path: Path) -> None:
    there = run(tmp_path / "a", values([1.0]))
    with pytest.raises(MissingDataError):
        compare(there, tmp_path / "nowhere")
    with pytest.raises(UsageError, match="mmeval score"):
        compare(there, write_run(tmp_path / "b", values([1.0])))
    with pytest.raises(UsageError, match="two runs"):
        compare(there)


def test_a_number_of_numbers_is_the_mean_of_its_parts_over_the_same_samples(
    tmp_path: Path,
) -> None:
    def made(name: str, a: float, b: float) -> Path:
        trials = values([0.0] * 20)
        for trial in trials:
            trial.scores["a"] = {"value": a, "status": "scored"}
            trial.scores["b"] = {"value": None, "status": "inapplicable"}
        for trial in trials[1::2]:
            trial.scores["b"] = {"value": b, "status": "scored"}
        results = {"metrics": {"told": metrics}, "results": [number_of_both]}
        return write_run(tmp_path / name, trials, results=results, model=name)

    metrics = {name: {**METRIC, "outputs": [name]} for name in ("a", "b", "both")}
    metrics["both"].update(pieces=["a", "b"], of_averages=True)
    number_of_both = {
        "task": "told",
        "metric": "both",
        "value": 0.5,
        "n": 20,
        "scored": 20,
        "weights": {"a": 0.5, "b": 0.5},
    }
    runs = made("x", 0.0, 0.5), made("y", 0.2, 1.0)
    number = one(compare(*runs, metrics="both"))
    assert number.difference == pytest.approx(0.35)
    assert (number.pairs, number.clusters, number.left_out) == (20, 20, {})


def test_a_plugin_that_is_not_installed_leaves_its_number_untested(
    tmp_path: Path,
) -> None:
    right = values([1.0] * 4)
    found = compare(*two(tmp_path, right, right, metric={"aggregation": "not_here"}))
    assert (one(found).verdict, found.exit_code) == ("unlike", 3)
    assert "not_here" in one(found).why
