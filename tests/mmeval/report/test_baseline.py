import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.metric.contract import metric as describe
from mmeval.program.calls import Program, Role
from mmeval.records.score import Key, Result
from mmeval.records.trial import Trial
from mmeval.report.baseline import Baseline, Beside, read_baseline
from mmeval.report.publish import publish
from mmeval.report.results_file import results_document
from mmeval.run.options import RunOutcome
from mmeval.scoring.verdict_log import Served
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Task
from tests.support.outcomes import half, outcome, result, task

BEFORE, NOW = datetime(2026, 1, 30, 12), datetime(2026, 1, 31, 12)
GROUP = Group("g", "g", ("a", "b"), (GroupMetric("half"),))


def baseline(folder: Path, *results: Result, tasks: tuple[Task, ...] = (task("a"),), **more: Any) -> Baseline:
    folder = folder / "before"
    publish(outcome(folder, *results, tasks=tasks, **more), ReportContext("m"), moment=BEFORE)
    return read_baseline(folder)


def beside(found: Baseline, now: RunOutcome) -> Beside:
    return found.beside(json.loads(json.dumps(results_document(now, ReportContext("m"), {}))))


def shown(found: Baseline, now: RunOutcome) -> dict[str, str]:
    """The column by the names of tasks, groups and slices."""
    column = beside(found, now).column
    assert column is not None
    values = {row.slice or row.task: column.values.get(Key.of(row)) for row in (*now.results, *now.group_results)}
    return {name: "N/A" if value is None else f"{value:.4f}" for name, value in values.items()}


def said(found: Baseline, now: RunOutcome) -> list[str]:
    made = beside(found, now)
    return [*made.unlike, *made.notes]


def test_a_number_stands_beside_the_one_of_the_same_task_metric_and_slice(tmp_path: Path) -> None:
    before = baseline(tmp_path, result("a", 0.75), result("a", 0.25, slice="level=easy"))
    now = outcome(
        tmp_path, result("a"), result("a", slice="level=easy"), result("a", slice="level=hard"), tasks=(task("a"),)
    )
    assert shown(before, now) == {"a": "0.7500", "level=easy": "0.2500", "level=hard": "N/A"}
    assert said(before, now) == []


def test_the_column_bears_the_name_of_the_model(tmp_path: Path) -> None:
    assert baseline(tmp_path, result("a")).header == "org/model"


@pytest.mark.parametrize("name", ["/models/tiny-llava", "./tiny-llava", "~/models/tiny-llava/"])
def test_the_column_of_a_model_in_a_folder_bears_the_last_part_of_its_path(name: str, tmp_path: Path) -> None:
    assert Baseline(tmp_path, {"model_name": name}).header == "tiny-llava"


def test_a_task_or_metric_that_the_baseline_lacks_is_said_once(tmp_path: Path) -> None:
    before = baseline(tmp_path, result("a"))
    now = outcome(
        tmp_path,
        result("a", metric="other"),
        result("b"),
        result("b", slice="level=easy"),
        tasks=(task("a"), task("b")),
    )
    folder = tmp_path / "before"
    assert said(before, now) == [f"N/A beside this run: the baseline ({folder}) has no metric other of a, no task b"]


def test_what_the_baseline_does_not_know_is_not_shown_as_zero(tmp_path: Path) -> None:
    before = baseline(tmp_path, result("a", None), result("b"), tasks=(task("a"), task("b")))
    now = outcome(tmp_path, result("a"), result("b", metric="other"), tasks=(task("a"), task("b")))
    assert shown(before, now) == {"a": "N/A", "b": "N/A"}


OTHERS: Mapping[str, Task] = {
    "had version 1.0, now it has 2.0": replace(task("a"), version="2.0"),
    "one of the two was made on bundled samples": task("a", comparable=False),
    "was asked by the protocol single, now by text_then_media": replace(task("a"), protocol_name="text_then_media"),
    "the metric had another version": task("a", metric=replace(half, version="3")),
    "the metric had another switches": replace(
        task("a"), metrics=(replace(task("a").metrics[0], bound=bind(half, {"strict": True})),)
    ),
    "the metric had another aggregation": replace(
        task("a"), metrics=(replace(task("a").metrics[0], aggregation="median"),)
    ),
}


@pytest.mark.parametrize("why", OTHERS, ids=["version", "data", "protocol", "metric", "switches", "aggregation"])
def test_a_number_that_was_made_in_another_way_is_left_out_with_its_reason(why: str, tmp_path: Path) -> None:
    before, now = baseline(tmp_path, result("a")), outcome(tmp_path, result("a"), tasks=(OTHERS[why],))
    assert shown(before, now) == {"a": "N/A"}
    (reason,) = said(before, now)
    assert why in reason


def test_a_group_is_left_out_when_a_task_in_it_is(tmp_path: Path) -> None:
    tasks = (task("a"), task("b"))
    before = baseline(tmp_path, result("g"), result("a"), result("b"), tasks=tasks, groups=(GROUP,))
    changed = (task("a"), replace(task("b"), version="2.0"))
    assert shown(before, outcome(tmp_path, result("a"), result("g"), tasks=tasks, groups=(GROUP,)))["g"] == "0.5000"
    assert shown(before, outcome(tmp_path, result("a"), result("g"), tasks=changed, groups=(GROUP,))) == {
        "a": "0.5000",
        "g": "N/A",
    }


@describe(range=(0, 1), version="1", source="made for tests")
def judged_half(trial: Trial, judge: Role) -> Program[float]:
    """Half a point from a judge."""
    yield judge.ask("half?")
    return 0.5


@pytest.mark.parametrize(("judge", "cell"), [("j-1", "0.5000"), ("j-2", "N/A")])
def test_a_judged_number_compares_with_one_of_the_same_judge_alone(judge: str, cell: str, tmp_path: Path) -> None:
    judged = (task("a", metric=judged_half),)
    before = baseline(
        tmp_path, result("a", metric="judged_half"), tasks=judged, judges={"a": [Served("judge", "j", "j-1", "x")]}
    )
    now = outcome(
        tmp_path, result("a", metric="judged_half"), tasks=judged, judges={"a": [Served("judge", "j", judge, "y")]}
    )
    assert shown(before, now) == {"a": cell}


def test_a_derived_number_compares_with_one_of_the_same_pieces_alone(tmp_path: Path) -> None:
    def made_of(version: str) -> Task:
        piece = task("a", metric=replace(half, version=version))
        whole = replace(piece.metrics[0], bound=bind(load_metric("overall"), {"of": ["half"]}))
        return replace(piece, metrics=(*piece.metrics, whole))

    before = baseline(tmp_path, result("a", metric="overall"), tasks=(made_of("1"),))
    cells = [
        shown(before, outcome(tmp_path, result("a", metric="overall"), tasks=(made_of(version),)))
        for version in ("1", "2")
    ]
    assert cells == [{"a": "0.5000"}, {"a": "N/A"}]


def test_another_number_of_trials_is_said(tmp_path: Path) -> None:
    before = baseline(tmp_path, result("a", n=20))
    assert said(before, outcome(tmp_path, result("a"), tasks=(task("a"),))) == [
        "the baseline's a half stands for 20 trials, that of this run for 10"
    ]


def test_the_newest_results_of_a_folder_are_taken(tmp_path: Path) -> None:
    made = outcome(tmp_path, result("a"), tasks=(task("a"),))
    for moment, value in ((NOW, 0.75), (BEFORE, 0.25)):
        now = replace(made, results=(result("a", value),))
        publish(now, ReportContext("m"), moment=moment)
    assert shown(read_baseline(tmp_path), made) == {"a": "0.7500"}


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"mmeval": {}}', '{"mmeval": {"results": [{"task": 1}]}}', "[" * 100_000],
    ids=["empty", "list", "object", "no results", "no result", "deep"],
)
def test_a_file_that_is_no_results_file_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "results_x.json").write_text(content)
    with pytest.raises(UsageError, match="no results file"):
        read_baseline(tmp_path / "results_x.json")


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"--baseline .*give the folder of a run that has ended"):
        read_baseline(tmp_path)


def test_nothing_of_a_baseline_enters_the_results_file(tmp_path: Path) -> None:
    before = baseline(tmp_path, result("a", 0.123456))
    made = outcome(tmp_path, result("a"), tasks=(task("a"),))
    published = publish(made, ReportContext("m"), moment=NOW, baseline=before)
    assert "|org/model|" in published.table
    assert "0.123456" not in json.dumps(published.document)
