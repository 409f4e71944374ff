import logging
from pathlib import Path

import pytest

from mmeval.errors import Interrupted
from mmeval.report.publish import write_at_end
from tests.support.stored_run import Told, text, write_run


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
