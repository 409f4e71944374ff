from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.interchange.contract import AnsweredRun, AnswerFormat, ExportSummary
from mmeval.interchange.export import export
from mmeval.report.results_file import write_results
from mmeval.results.stored_run import StoredRun
from mmeval.settings.report_options import ReportContext
from tests.support.toy import run_toy, task

pytestmark = pytest.mark.usefixtures("toys")


def written(tmp_path: Path, what: str, **options: Any) -> list[Any]:
    """What a writer is given of a run whose second answer is right."""
    outcome = run_toy(tmp_path, task(rows=2), args={"wording": "answer 1"}, **options)
    write_results(outcome, ReportContext("toy"), moment=datetime.now(UTC))
    found: list[Any] = []

    def write(run: AnsweredRun, folder: Path) -> ExportSummary:
        found.extend(getattr(run.tasks[0], what)())
        return ExportSummary(len(found), 0)

    stored = StoredRun(outcome.folder)
    export(
        stored,
        AnswerFormat("Is written only.", write=write),
        tmp_path / "out",
        force=False,
    )
    stored.close()
    return found


def test_a_writer_that_asks_has_the_scores_beside_the_trials(tmp_path: Path) -> None:
    first, second = written(tmp_path, "scored")
    assert [one.trial.output.text for one in (first, second)] == ["answer 1"] * 2
    assert [one.scores["exact_match"].value for one in (first, second)] == [0.0, 1.0]


def test_a_run_without_scores_is_written_too(tmp_path: Path) -> None:
    assert [one.scores for one in written(tmp_path, "scored", predict_only=True)] == [
        {},
        {},
    ]


def test_a_writer_that_does_not_ask_reads_no_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "mmeval.results.stored_run._score_rows",
        lambda folder: pytest.fail("scores were read"),
    )
    assert len(written(tmp_path, "trials")) == 2
