import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.findings.finding import Subject
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records.score import Key, Result
from mmeval.report.baseline import Baseline, ShownBaseline, read_baseline
from mmeval.report.publish import publish
from mmeval.report.results_file import results_document
from mmeval.run.options import RunOutcome
from mmeval.settings.report_options import ReportContext
from mmeval.task.task import Group, GroupMetric, Task
from tests.support.outcomes import half, outcome, result, task

BEFORE = datetime(2026, 1, 30, 12)
GROUP = Group("g", "g", ("a", "b"), (GroupMetric("half"),))
A, B = task("a"), task("b")


def baseline(
    folder: Path, *results: Result, tasks: tuple[Task, ...] = (A,), **more: Any
) -> Baseline:
    folder = folder / "before"
    publish(
        outcome(folder, *results, tasks=tasks, **more),
        ReportContext("m"),
        moment=BEFORE,
    )
    return read_baseline(folder)


def beside(found: Baseline, now: RunOutcome) -> ShownBaseline:
    return found.shown_with(
        json.loads(json.dumps(results_document(now, ReportContext("m"), {})))
    )


def shown(found: Baseline, now: RunOutcome) -> dict[str, float | None]:
    """The column by the names of tasks, groups and slices."""
    column = beside(found, now).column
    assert column is not None
    others = {
        row.slice or row.task: column.values.get(Key.of(row))
        for row in (*now.results, *now.group_results)
    }
    return {
        name: None if other is None else other.value for name, other in others.items()
    }


def test_a_number_stands_beside_the_one_of_the_same_task_metric_and_slice(
    tmp_path: Path,
) -> None:
    before = baseline(
        tmp_path, result("a", 0.75), result("a", 0.25, slice="level=easy")
    )
    found = [
        result("a"),
        result("a", slice="level=easy"),
        result("a", slice="level=hard"),
    ]
    now = outcome(tmp_path, *found, tasks=(A,))
    assert shown(before, now) == {"a": 0.75, "level=easy": 0.25, "level=hard": None}
    assert beside(before, now)[1:] == ((), ())


def test_the_column_bears_the_name_of_the_model_or_the_last_part_of_its_folder(
    tmp_path: Path,
) -> None:
    names = ("org/model", "/models/tiny-llava", "./tiny-llava", "~/models/tiny-llava/")
    headers = [Baseline(tmp_path, {"model_name": name}).header for name in names]
    assert headers == ["org/model", *["tiny-llava"] * 3]


def test_what_another_baseline_lacks_is_noted(tmp_path: Path) -> None:
    before = baseline(tmp_path, result("a"))
    found = [result("a", metric="other"), result("b"), result("b", slice="level=easy")]
    notes = beside(before, outcome(tmp_path, *found, tasks=(A, B))).findings
    assert [(one.kind, one.subject) for one in notes] == [
        ("not_comparable", Subject("a", "other")),
        ("not_comparable", Subject("b")),
    ]
    assert str(tmp_path / "before") in notes[0].cause


def test_a_baseline_over_another_number_of_trials_is_one_note_a_task(
    tmp_path: Path,
) -> None:
    def made(n: int) -> list[Result]:
        return [result("a", metric=metric, n=n) for metric in ("half", "other")]

    before = baseline(tmp_path, *made(20))
    (note,) = beside(before, outcome(tmp_path, *made(10), tasks=(A,))).findings
    assert (note.kind, note.subject) == ("subset", Subject("a"))


def test_a_number_that_was_made_in_another_way_is_left_out_with_its_reason(
    tmp_path: Path,
) -> None:
    before = baseline(tmp_path, result("a"))
    now = outcome(
        tmp_path, result("a"), tasks=(replace(A, protocol_name="text_then_media"),)
    )
    (finding,) = beside(before, now).findings
    assert (finding.kind, finding.subject) == ("not_comparable", Subject("a", "half"))
    assert "protocol" in finding.cause
    assert shown(before, now) == {"a": None}


def test_a_group_is_left_out_when_a_task_in_it_is(tmp_path: Path) -> None:
    three = [result("g"), result("a"), result("b")]
    before = baseline(tmp_path, *three, tasks=(A, B), groups=(GROUP,))
    for version, group in ("1.0", 0.5), ("2.0", None):
        tasks = (A, replace(B, version=version))
        now = outcome(tmp_path, *three[:2], tasks=tasks, groups=(GROUP,))
        assert shown(before, now) == {"a": 0.5, "g": group}


def test_a_derived_number_compares_with_one_of_the_same_pieces_alone(
    tmp_path: Path,
) -> None:
    def made_of(version: str) -> tuple[Task, ...]:
        piece = task("a", metric=replace(half, version=version))
        whole = replace(
            piece.metrics[0], bound=bind(load_metric("overall"), {"of": ["half"]})
        )
        return (replace(piece, metrics=(*piece.metrics, whole)),)

    found = result("a", metric="overall")
    before = baseline(tmp_path, found, tasks=made_of("1"))
    for version, value in ("1", 0.5), ("2", None):
        now = outcome(tmp_path, found, tasks=made_of(version))
        assert shown(before, now) == {"a": value}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"mmeval": {}}',
        '{"mmeval": {"results": [{"task": 1}]}}',
        "[" * 100_000,
    ],
    ids=["empty", "list", "no results", "no result", "deep"],
)
def test_a_file_that_is_no_results_file_is_refused(
    content: str, tmp_path: Path
) -> None:
    with pytest.raises(MissingDataError, match="--baseline"):
        read_baseline(tmp_path)
    (tmp_path / "results_x.json").write_text(content)
    with pytest.raises(UsageError, match="not a results file"):
        read_baseline(tmp_path / "results_x.json")
