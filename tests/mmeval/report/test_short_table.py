import json
import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.findings.finding import Finding, Subject
from mmeval.findings.render import RemedyTarget, terminal_lines
from mmeval.metric.bound import bind
from mmeval.metric.contract import metric as describe
from mmeval.records.score import Key, Result
from mmeval.records.trial import Trial
from mmeval.report.baseline import BaselineColumn
from mmeval.report.results_file import results_document
from mmeval.report.short_table import _aligned, _folded, short_table, verdict
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Task, TaskMetric
from tests.support.outcomes import NO_JUDGE, outcome, result, task

GROUP = Group("g", "All of it", ("a", "b"), (GroupMetric("half"),))
A, B = task("a"), task("b")


@describe(range=(0, 1), version="1", source="made for tests")
def graded(trial: Trial, judge: Any) -> Generator[Any, Any, float]:
    """The grade of a judge."""
    yield judge
    return 0.5


PAID = replace(A, metrics=(*A.metrics, TaskMetric(bind(graded))))
JUDGED = replace(
    B,
    metrics=(replace(B.metrics[0], lacks=(NO_JUDGE,)),),
)


def shown(
    *results: Result, width: int = 80, tasks: tuple[Task, ...] = (A, B), **more: Any
) -> list[str]:
    baseline = more.pop("baseline", None)
    context = ReportContext("openai", settings=more.pop("settings", {}))
    made = outcome(Path("runs/m"), *results, tasks=tasks, **more)
    document = json.loads(json.dumps(results_document(made, context, {})))
    return short_table(document, made, baseline=baseline, width=width).splitlines()


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def test_a_group_and_each_of_its_tasks_is_one_line_with_interval_and_counts() -> None:
    three = [
        result("g", 0.5),
        result("a", 0.25, ci95=(0.125, 0.5)),
        result("b", 61.3, failed=2),
        result("a", slice="l=1"),
    ]
    header, group, first, second, *rest = shown(*three, groups=(GROUP,))
    assert [cells(line) for line in (header, group, first, second)] == [
        ["org/model", "score", "95 %", "scored"],
        ["All of it, half", "0.500", "-", "10/10"],
        ["a", "0.250", "0.125 to 0.500", "10/10"],
        ["b", "61.3", "-", "8/10", "failed 2"],
    ]
    assert (first.index("a"), rest) == (2, [])


def test_a_judged_number_has_a_row_below_the_headline_with_what_it_lacks() -> None:
    verdicts = result(
        "a", 0.75, metric="graded", unscored=3, refused_verdicts=2, inapplicable=1
    )
    header, first, second, *_ = shown(result("a"), verdicts, tasks=(PAID,))
    assert header.index("score") == first.index("0.500")
    assert second.startswith("    graded ")
    assert cells(second) == [
        "graded",
        "0.750",
        "-",
        "6/10",
        "refused 2, unscored 1, inapplicable 1",
    ]


def test_a_judged_number_that_scored_no_trial_for_want_of_a_judge_has_no_row() -> None:
    missing = result("a", None, metric="graded", unavailable=10)
    assert len(shown(result("a"), missing, tasks=(PAID,))) == 2


def test_what_has_no_number_is_no_row_and_is_named_below() -> None:
    lost = result("b", None, unavailable=10)
    lines = shown(result("a"), lost, tasks=(A, JUDGED))
    assert [cells(line)[0] for line in lines[:2]] == ["org/model", "a, half"]
    assert lines[-1] == "Tasks without a number: b."
    assert shown(lost, tasks=(JUDGED,))[0] == "There is no number."


def test_a_group_without_a_number_stands_above_its_members_with_one() -> None:
    inner = Group("i", "Inner", ("b",), (GroupMetric("half"),))
    other = Group("o", "Other", ("c",), (GroupMetric("half"),))
    outer = replace(GROUP, members=("a", "i", "o"))
    none = [result(name, None, unsupported=10) for name in ("g", "a", "i", "o", "c")]
    lines = shown(
        *none, result("b"), tasks=(A, B, task("c")), groups=(outer, inner, other)
    )
    assert [line[:12].rstrip() for line in lines[1:4]] == [
        "All of it, h",
        "  Inner",
        "    b",
    ]
    assert [cells(line)[1] for line in lines[1:4]] == ["-", "-", "0.500"]
    assert not any(cells(line)[0] == "Other" for line in lines)


def test_a_number_that_was_lost_has_a_row_and_one_of_a_part_its_bounds() -> None:
    lost = result("a", None, failed=10, bounds=(0.0, 1.0))
    assert cells(shown(lost)[-1]) == ["a, half", "-", "-", "0/10", "failed 10"]
    part = result("a", 0.5, failed=2, bounds=(0.4, 0.6))
    assert shown(part)[-1].endswith("0.400 and 0.600.")


def test_the_interval_shown_covers_trials_that_were_lost() -> None:
    lost = result(
        "a", 0.5, failed=2, ci95=(0.3, 0.7), bounds=(0.4, 0.6), bounds_ci95=(0.2, 0.8)
    )
    lines = shown(lost, width=200)
    assert cells(lines[1])[2] == "0.200 to 0.800"
    assert lines[-1].endswith("0.400 and 0.600, which the interval covers.")


def test_each_reason_for_no_interval_is_one_sentence() -> None:
    reason = "too few clusters for the interval of a median"
    alone = [result(name, 0.5, no_interval=reason) for name in "ab"]
    (*_, line) = shown(*alone, width=200)
    assert line == f"No interval of a, b: {reason}."


def test_a_short_reason_for_no_interval_stands_in_its_place() -> None:
    lines = shown(result("a", 0.5, no_interval="one cluster"), width=200)
    assert cells(lines[-1])[2] == "one cluster"


def test_a_group_does_not_repeat_the_answers_without_an_option_of_its_tasks() -> None:
    lines = shown(
        result("g", no_option=3), result("a", no_option=3), groups=(GROUP,), width=200
    )
    assert sum("no option" in line for line in lines) == 1


def test_answers_without_an_option_are_counted_by_a_metric_that_has_no_row() -> None:
    other = replace(result("a", no_option=2), metric="choice")
    (*_, line) = shown(result("a", 0.5), other, width=200)
    assert line.startswith("a: no option 2/10, scored as wrong")


def test_a_mean_over_some_members_of_a_group_says_of_how_many() -> None:
    for weights, counted in ({"a": 1.0}, True), ({"a": 0.5, "b": 0.5}, False):
        lines = shown(
            replace(result("g"), weights=weights), result("a"), groups=(GROUP,)
        )
        assert lines[-1].endswith("All of it 1 of 2.") == counted


def test_a_member_that_counts_as_zero_is_named() -> None:
    cannot = result("b", None, unsupported=10)
    for weights, is_named in ({"a": 1.0}, False), ({"a": 0.5, "b": 0.5}, True):
        group = replace(result("g"), weights=weights)
        lines = shown(group, result("a"), cannot, groups=(GROUP,))
        named = [line for line in lines if line.startswith("Counted as 0")]
        assert [": b." in line for line in named] == [True] * is_named
    unknown = result("g", None, weights={"b": 1.0})
    lines = shown(unknown, cannot, groups=(GROUP,))
    assert not any("Counted" in line for line in lines)


def test_a_trial_that_the_model_could_not_be_asked_is_no_row_and_one_line() -> None:
    lines = shown(
        result("a"),
        result("b", None, unsupported=10),
        findings=(Finding("unsupported", count=10, of=20, cause="it wants sound"),),
    )
    assert [cells(line)[0] for line in lines] == [
        "org/model",
        "a, half",
        "",
        "Tasks without a number: b.",
        "unsupported",
    ]


def test_tasks_whose_prompt_uses_the_reference_are_named_where_others_do_not() -> None:
    told = replace(A, uses_reference=True)
    results = (result("a"), result("b"))
    assert shown(*results, tasks=(told, B))[-1].endswith("reference information: a.")
    both = (told, replace(B, uses_reference=True))
    assert shown(*results, tasks=both)[-1].endswith("reference information.")


def test_findings_about_the_numbers_stand_below_them_with_commands_of_the_run() -> None:
    remedy = "mmeval score RUN"
    part = Finding("subset", Subject("a"), 3, 10, "by --limit", remedy, "note")
    lost = Finding("failed", Subject("a"), 1, 10, "no answer", severity="error")
    lines = shown(result("a"), tasks=(A,), findings=(part, lost))
    assert lines[3:] == terminal_lines([part], RemedyTarget(run="runs/m"))


def test_a_baseline_is_a_column_with_a_verdict_beyond_chance() -> None:
    other = BaselineColumn(
        "org/other", {Key("a", "half"): result("a", 0.1, ci95=(0.05, 0.2))}
    )
    found = result("a", 0.5, ci95=(0.4, 0.6)), result("b")
    *lines, _, legend = shown(*found, baseline=other)
    assert legend.startswith("better:")
    assert [cells(line)[-1] for line in lines] == [
        "org/other",
        "better than 0.100",
        "-",
    ]


@pytest.mark.parametrize(
    ("own", "other", "higher", "said"),
    [
        ((0.6, 0.5, 0.7), (0.4, 0.3, 0.5), True, "better"),
        ((0.6, 0.5, 0.7), (0.4, 0.3, 0.5), False, "worse"),
        ((0.4, 0.3, 0.5), (0.6, 0.5, 0.7), True, "worse"),
        ((0.5, 0.4, 0.6), (0.4, 0.3, 0.5), True, ""),
        ((0.0, 0.0, 0.31), (1.0, 0.69, 1.0), True, "worse"),
        ((0.5, None, None), (0.4, 0.3, 0.5), True, ""),
    ],
    ids=["higher", "lower is better", "lower", "overlap", "no spread", "no interval"],
)
def test_a_number_is_better_or_worse_where_the_interval_of_the_difference_leaves_out_0(
    own: tuple[Any, ...], other: tuple[Any, ...], higher: bool, said: str
) -> None:
    def number(value: float, low: float | None, high: float) -> Result:
        return result(
            "a",
            value,
            ci95=None if low is None else (low, high),
            higher_is_better=higher,
        )

    assert verdict(number(*own), number(*other)) == said


@pytest.mark.parametrize("width", [80, 40])
def test_lines_fit_the_width_and_nothing_is_cut(width: int) -> None:
    alias = f"A task with a name of {'very ' * 9} many words, further still"
    tasks = (task("a", alias=alias), JUDGED)
    numbers = (result("a", ci95=(0.25, 0.75)), result("b", None, unavailable=10))
    before = result("a", 0.1, ci95=(0.05, 0.2))
    other = BaselineColumn("baseline/of-another-model", {Key("a", "half"): before})
    lines = shown(*numbers, tasks=tasks, baseline=other, width=width)
    assert max(map(len, lines)) <= width
    whole = "".join("".join(lines).split())
    assert all(word in whole for word in ("further", "still,", "better"))


def test_a_table_that_fits_is_the_same_if_it_is_made_to_fold_long_cells() -> None:
    headers = ["m", "score", ""]
    rows = [
        ["\u8a9e, e\u0301", "0.100", "failed 1"],
        ["\u0939\u093f\u0928", "1.000\u00a0than\u00a00", ""],
        ["3 more:\u2060", "", ""],
    ]
    depths = [0, 2, 3]
    aligned = _aligned(headers, rows, depths, range(1, 2))
    folded = _folded(headers, rows, depths, range(1, 2), 80)
    assert [line.rstrip() for line in aligned] == [line.rstrip() for line in folded]
