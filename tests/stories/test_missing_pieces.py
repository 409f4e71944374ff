"""Scores that are made of what there is of their pieces, in whole runs: what they go without is said, comes later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_MISSING, EXIT_OK, MissingError
from mmeval.forecast.dry_run import forecast
from mmeval.forecast.text import forecast_text
from mmeval.records.score import Result
from mmeval.report.numbers import number_rows
from mmeval.report.progress_bar import Quiet
from mmeval.report.results_file import results_document
from mmeval.report.table import render
from mmeval.rescore.rescorer import rescore
from mmeval.run.options import BackendSpec, RescoreOptions, RunOptions, RunOutcome
from mmeval.scoring.score_set import finished_rows
from mmeval.settings.report_options import ReportContext
from mmeval.task.selection import select
from mmeval.task.task import Selection, TaskOverrides
from tests.support.applying import registered
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import run_toy

TASK = """\
task: heard
dataset_path: data
metric_list:
  - metric: sound_worth
  - metric: text_worth
  - metric: what_there_is
    of: [sound_worth, text_worth]
metadata: {version: 1}
"""
GROUP = "group: all\ntask: [heard]\naggregate_metric_list:\n  - metric: what_there_is\nmetadata: {version: 1}\n"
TEXTS = ("sounds 0.5", "nothing")


@pytest.fixture(autouse=True)
def _metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def judge(tmp_path: Path) -> dict[str, BackendSpec]:
    """Says no to everything; what the file ``judge`` names fails."""
    return {"judge": BackendSpec("toy", {"broken": str(tmp_path / "judge"), "wording": "no"})}


def chosen(tmp_path: Path, *, roles: Any = (), skip: tuple[str, ...] = ()) -> Selection:
    folder = write_files(tmp_path / "tasks", {"heard.yaml": TASK, "all.yaml": GROUP})
    write_rows(folder / "data", *({"id": f"s{i}", "input": text} for i, text in enumerate(TEXTS)))
    return select(["all"], [folder], TaskOverrides(skip_metric=skip), roles=frozenset(roles))


def ran(tmp_path: Path, *, roles: Any = None, skip: tuple[str, ...] = (), **options: Any) -> RunOutcome:
    selection = chosen(tmp_path, roles=roles or (), skip=skip)
    return run_toy(tmp_path, *selection.tasks, groups=selection.groups, roles=roles or {}, **options)


def again(outcome: RunOutcome, **options: Any) -> RunOutcome:
    made = {"roles": {}, "score_workers": 0, "retry_on_error": 0, **options}
    return rescore(RescoreOptions(folder=outcome.folder, **made), progress=Quiet())


def number(outcome: RunOutcome, task: str = "heard") -> Result:
    found = (*outcome.results, *outcome.group_results)
    return next(result for result in found if (result.task, result.metric) == (task, "what_there_is"))


def evidence(outcome: RunOutcome) -> list[Any]:
    found = finished_rows(outcome.score_sets["heard"], lambda index, repeat: True)
    return [row["scores"]["what_there_is"].get("evidence") for row in found]


def table(outcome: RunOutcome) -> str:
    context = ReportContext("toy")
    return render(results_document(outcome, context, {}), outcome.selection, context)


def test_without_a_judge_it_is_made_of_the_rest(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outcome = ran(tmp_path)

    assert (number(outcome).value, number(outcome).inapplicable, outcome.exit_code) == (0.5, 1, EXIT_OK)
    assert evidence(outcome) == [
        {"sound_worth": "scored", "text_worth": "unavailable"},
        {"sound_worth": "inapplicable", "text_worth": "unavailable"},
    ]
    (said,) = [record.getMessage() for record in caplog.records if "partial" in record.getMessage()]
    assert said.startswith("heard: ") and "without text_worth" in said


def test_its_number_says_so_in_the_tables_of_the_run_and_of_its_results(tmp_path: Path) -> None:
    outcome = ran(tmp_path)
    document = results_document(outcome, ReportContext("toy"), {})
    notes = {(row.task, row.metric): row.notes for row in number_rows([document], ["toy"])}

    assert table(outcome).count("partial: without text_worth") == 3  # of the task, and of its group in both tables
    for task in ("heard", "all"):
        assert "partial: without text_worth" in notes[task, "what_there_is"]
    assert "partial" not in notes["heard", "sound_worth"]
    assert list(document["mmeval"]["metrics"]["heard"]["what_there_is"]["without"]) == ["text_worth"]


def test_a_dry_run_says_so(tmp_path: Path) -> None:
    options = RunOptions(BackendSpec("toy"), tmp_path / "runs")
    text = forecast_text(forecast(chosen(tmp_path), options))

    assert "partial: heard: " in text


def test_a_strict_run_is_refused_for_the_piece(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="text_worth is unavailable"):
        ran(tmp_path, strict=True)


def test_a_judge_that_comes_later_makes_it_whole(tmp_path: Path) -> None:
    later = again(ran(tmp_path), roles=judge(tmp_path))

    assert [set(one.values()) for one in evidence(later)] == [{"scored"}, {"scored", "inapplicable"}]
    assert (number(later).value, number(later).scored) == (0.125, 2)
    assert "partial" not in table(later)


def test_a_judge_that_is_lost_in_the_middle_suspends_it(tmp_path: Path) -> None:
    (tmp_path / "judge").write_text("sounds\nauth\n")
    outcome = ran(tmp_path, roles=judge(tmp_path))

    assert (number(outcome).value, number(outcome).suspended, outcome.exit_code) == (None, True, EXIT_MISSING)
    (tmp_path / "judge").unlink()
    mended = again(outcome, roles=judge(tmp_path))
    assert (number(mended).value, mended.exit_code) == (0.125, EXIT_OK)


def test_a_piece_that_is_skipped_is_left_out_and_scoring_it_later_brings_it_back(tmp_path: Path) -> None:
    outcome = ran(tmp_path, roles=judge(tmp_path), skip=("sound_worth",))

    assert (number(outcome).value, outcome.exit_code) == (0.0, EXIT_OK)
    assert evidence(outcome)[0] == {"sound_worth": "unavailable", "text_worth": "scored"}
    assert "partial: without sound_worth" in table(outcome)
    later = again(outcome, roles=judge(tmp_path), metrics=("what_there_is",))
    assert (number(later).value, "partial" in table(later)) == (0.125, False)
