import json
import logging
from datetime import datetime
from pathlib import Path

import pytest

from mmeval.costs.prices import Bill
from mmeval.errors import Interrupted
from mmeval.report.publish import publish, write_at_end
from mmeval.settings.report_options import ReportContext
from mmeval.store.spending import Payee, Spent
from tests.support.outcomes import outcome, result, task
from tests.support.stored_run import Told, text, write_run

MOMENT = datetime(2026, 1, 31, 12)


def test_the_tables_are_returned_and_the_results_file_is_written(tmp_path: Path) -> None:
    made = outcome(tmp_path, result("a"), tasks=(task("a"),))
    published = publish(made, ReportContext("m"), moment=MOMENT)
    assert "|a    |1.0" in published.table
    assert json.loads(published.file.read_text()) == published.document
    assert [path.name for path in tmp_path.iterdir()] == ["results_2026-01-31T12-00-00.json"]


def test_what_keeps_the_exit_code_from_being_0_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = outcome(tmp_path, result("a", unscored=1), tasks=(task("a"),), complaints=("1 of 10 unscored; do this",))
    with caplog.at_level(logging.WARNING, "mmeval"):
        publish(made, ReportContext("m"), moment=MOMENT)
    assert caplog.messages == ["1 of 10 unscored; do this"]


def test_notes_on_the_answers_are_logged_beside_an_exit_code_of_0(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = outcome(tmp_path, result("a"), tasks=(task("a"),), notes=("1 of 10 answers was cut off",))
    with caplog.at_level(logging.WARNING, "mmeval"):
        publish(made, ReportContext("m"), moment=MOMENT)
    assert (caplog.messages, made.exit_code) == (["1 of 10 answers was cut off"], 0)


def test_what_pictures_cost_is_said_where_the_server_reports_no_tokens(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bill = Bill(Payee("model", "m"), Spent(calls=2, answered=2, images=2), usd=0.08)
    made = outcome(tmp_path, result("a"), tasks=(task("a"),), bills=(bill,))
    with caplog.at_level(logging.INFO, "mmeval"):
        publish(made, ReportContext("m"), moment=MOMENT)
    assert "spent in this run folder: 2 calls, 2 images made, 0.08 USD" in caplog.messages


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [Told([text("a")], [text("b")])], results={})


def results(run: Path) -> Path:
    return next(run.glob("results_*.json"))


def test_the_end_of_a_run_says_where_its_report_is(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        write_at_end(run, results(run))
    assert caplog.messages == [f"report: {run}/report/index.html"]
    assert (run / "report" / "index.html").exists()


def test_trials_that_the_report_cannot_show_are_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = write_run(tmp_path / "run", [Told([text("a")], [{"no": "type"}]), Told([text("a")], [text("b")])], results={})
    write_at_end(run, results(run))
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert record.getMessage() == (
        f"1 trial has a damaged record and is not in the report; mmeval report {run} --verbosity DEBUG says why"
    )


def test_a_report_that_cannot_be_written_is_one_warning(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    (run / "report").write_text("not a folder")
    write_at_end(run, results(run))
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert record.getMessage().endswith(f"name a folder for the report); mmeval report {run} makes it")


def test_ctrl_c_during_the_report_says_that_the_results_are_kept(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mmeval.report.page.write_report", stopped)
    with pytest.raises(Interrupted, match=r"the results are kept, and mmeval report .* makes it") as found:
        write_at_end(run, results(run))
    assert found.value.exit_code == 130
