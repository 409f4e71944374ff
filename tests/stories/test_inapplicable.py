"""Answers of which a metric says nothing, in whole runs: nothing is lost of them, and no number is made of them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK
from mmeval.records.score import Result
from mmeval.report.numbers import number_rows
from mmeval.report.progress_bar import Quiet
from mmeval.report.results_file import results_document
from mmeval.report.table import render
from mmeval.report.table_formats.csv import csv_table
from mmeval.rescore.rescorer import rescore
from mmeval.run.options import BackendSpec, RescoreOptions, RunOutcome
from mmeval.scoring.score_set import finished_rows
from mmeval.settings.report_options import ReportContext
from mmeval.task.selection import select
from mmeval.task.task import Selection, TaskOverrides
from tests.support.applying import NO_PICTURE, NO_SOUND, registered
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import break_model, mend_model, run_toy

TASK = """\
task: heard
dataset_path: data
metric_list:
  - metric: sound_worth
  - metric: picture_worth
{more}breakdown: [loud]
metadata: {{version: 1}}
"""
PRODUCT = "  - metric: overall\n    of: [sound_worth, picture_worth]\n"
AT_ONCE = "  - metric: sounds_at_once\n"
LOUD, SOFT, QUIET, BOTH = "sounds 1", "sounds 0 0.5", "nothing", "sounds 0.5, pictures 1"


@pytest.fixture(autouse=True)
def _metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def tasks(tmp_path: Path, *texts: str, more: str = "") -> Selection:
    folder = write_files(tmp_path / "tasks", {"heard.yaml": TASK.format(more=more)})
    rows = ({"id": f"s{i}", "input": text, "loud": str(text == LOUD)} for i, text in enumerate(texts))
    write_rows(folder / "data", *rows)
    return select(["heard"], [folder], TaskOverrides())


def ran(tmp_path: Path, *texts: str, more: str = "", **options: Any) -> RunOutcome:
    """A run over questions that the toy model answers with their own words."""
    return run_toy(tmp_path, *tasks(tmp_path, *texts, more=more).tasks, **options)


def number(outcome: RunOutcome, name: str = "sound_worth") -> Result:
    return next(result for result in outcome.results if (result.metric, result.slice) == (name, ""))


def rows(outcome: RunOutcome, name: str = "sound_worth") -> list[Mapping[str, Any] | None]:
    found = finished_rows(outcome.score_sets["heard"], lambda index, repeat: True)
    return [row["scores"].get(name) for row in found]


def test_the_value_is_over_the_answers_that_hold_something_and_the_run_ends_well(tmp_path: Path) -> None:
    outcome = ran(tmp_path, LOUD, QUIET, SOFT)
    found = number(outcome)

    assert (found.value, found.scored, found.inapplicable, found.unscored, found.n) == (0.625, 2, 1, 0, 3)
    assert found.bounds == (0.625, 0.625)
    assert (outcome.exit_code, outcome.counts.unscored) == (EXIT_OK, 0)
    assert rows(outcome)[1] == {"value": None, "status": "inapplicable", "reason": NO_SOUND}


def test_a_batched_metric_says_it_of_single_answers(tmp_path: Path) -> None:
    found = number(ran(tmp_path, LOUD, QUIET, more=AT_ONCE), "sounds_at_once")
    assert (found.value, found.inapplicable) == (1.0, 1)


def test_a_metric_that_no_answer_has_anything_for_has_no_number_and_that_is_no_failure(tmp_path: Path) -> None:
    outcome = ran(tmp_path, LOUD, QUIET)
    found = number(outcome, "picture_worth")

    assert (found.value, found.bounds, found.inapplicable, outcome.exit_code) == (None, None, 2, EXIT_OK)
    assert outcome.complaints == ()
    assert [("picture_worth" in note, NO_PICTURE in note) for note in outcome.notes] == [(True, True)]


def test_the_table_says_that_there_is_nothing_to_score_once_and_not_of_every_slice(tmp_path: Path) -> None:
    outcome = ran(tmp_path, LOUD, QUIET)
    document = results_document(outcome, ReportContext("toy"), {})
    lines = render(document, outcome.selection, ReportContext("toy")).splitlines()
    shown = [line for line in lines if "picture_worth" in line]

    assert len(shown) == 1
    assert "N/A" in shown[0]
    assert "nothing to score, 2 inapplicable" in shown[0]
    assert sum("sound_worth" in line for line in lines) == 3
    assert any("|1 inapplicable" in line for line in lines)


def test_the_results_file_the_csv_and_the_page_count_them(tmp_path: Path) -> None:
    outcome = ran(tmp_path, LOUD, QUIET)
    document = results_document(outcome, ReportContext("toy"), {})
    (row,) = [one for one in document["mmeval"]["results"] if (one["metric"], one["slice"]) == ("sound_worth", "")]
    table = csv.DictReader(io.StringIO(csv_table(number_rows([document], ["toy"]), ["toy"])))
    (line,) = [line for line in table if (line["metric"], line["slice"]) == ("sound_worth", "")]

    assert (row["inapplicable"], Result.from_json(row)) == (1, number(outcome))
    assert (line["scored"], line["unscored"], line["inapplicable"]) == ("1", "0", "1")


def test_a_results_file_of_before_has_none(tmp_path: Path) -> None:
    old = number(ran(tmp_path, LOUD)).to_json()
    del old["inapplicable"]

    assert Result.from_json(old).inapplicable == 0


def test_the_same_command_scores_none_of_them_again(tmp_path: Path) -> None:
    first = ran(tmp_path, LOUD, QUIET)
    before = (first.score_sets["heard"] / "scores.jsonl").stat().st_mtime_ns
    second = ran(tmp_path, LOUD, QUIET)

    assert (second.counts.kept, second.counts.new) == (2, 0)
    assert (second.score_sets["heard"] / "scores.jsonl").stat().st_mtime_ns == before
    assert number(second) == number(first)


def test_scoring_again_gives_the_same(tmp_path: Path) -> None:
    first = ran(tmp_path, LOUD, QUIET)
    options = RescoreOptions(folder=first.folder, roles={}, score_workers=0, retry_on_error=0)
    again = rescore(options, progress=Quiet())

    assert (number(again), again.exit_code, again.notes) == (number(first), EXIT_OK, first.notes)


def test_an_answer_that_never_came_is_failed_and_moves_the_bounds(tmp_path: Path) -> None:
    break_model(tmp_path, LOUD)
    outcome = ran(tmp_path, LOUD, QUIET, SOFT)
    found = number(outcome)

    assert (found.value, found.failed, found.inapplicable, found.bounds) == (0.25, 1, 1, (0.125, 0.625))
    assert outcome.exit_code == EXIT_INCOMPLETE
    mend_model(tmp_path)
    assert number(ran(tmp_path, LOUD, QUIET, SOFT)).value == 0.625


def test_an_item_without_a_quality_is_unscored_and_not_inapplicable(tmp_path: Path) -> None:
    outcome = ran(tmp_path, "sounds 1 x", QUIET)
    found = number(outcome)

    assert (found.unscored, found.inapplicable, found.bounds) == (1, 1, (0.5, 1.0))
    assert outcome.exit_code == EXIT_INCOMPLETE


def test_what_is_made_of_it_is_inapplicable_too(tmp_path: Path) -> None:
    outcome = ran(tmp_path, LOUD, BOTH, QUIET, more=PRODUCT)
    found = number(outcome, "overall")

    assert (found.value, found.scored, found.inapplicable, outcome.exit_code) == (0.5, 1, 2, EXIT_OK)
    assert rows(outcome, "overall")[0] == {
        "value": None,
        "status": "inapplicable",
        "reason": f"picture_worth: {NO_PICTURE}",
    }


def test_the_rule_for_a_missing_output_counts_on_every_metric(tmp_path: Path) -> None:
    rule = "missing_output: 0\n"
    selection = tasks(tmp_path, QUIET, LOUD, more="")
    text = (tmp_path / "tasks" / "heard.yaml").read_text()
    write_files(tmp_path / "tasks", {"heard.yaml": text + rule})
    selection = select(["heard"], [tmp_path / "tasks"], TaskOverrides())
    outcome = run_toy(tmp_path, *selection.tasks, model=BackendSpec("empty"))

    assert [number(outcome, name).value for name in ("sound_worth", "picture_worth")] == [0.0, 0.0]
    assert number(outcome).inapplicable == 0
