import logging
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.costs.prices import Bill
from mmeval.errors import Interrupted
from mmeval.report.publish import publish, write_at_end
from mmeval.settings.report_options import ReportContext
from mmeval.store.spending import Payee, Spent
from tests.support.outcomes import outcome, result, task
from tests.support.stored_run import Told, text, write_run


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelname == "WARNING"
    ]


def test_complaints_and_notes_are_warnings_but_for_the_error_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log: dict[str, Any] = {
        "complaints": ("1 unscored", "the end"),
        "notes": ("1 cut off",),
        "error": "the end",
    }
    log["bills"] = (Bill(Payee("model", "m"), Spent(calls=1, answered=1), usd=None),)
    found = outcome(tmp_path, result("a"), tasks=(task("a"),), **log)
    with caplog.at_level(logging.INFO, "mmeval"):
        publish(found, ReportContext("m"), moment=datetime(2026, 1, 31))
    assert warnings(caplog) == ["1 unscored", "1 cut off"]
    caplog.clear()
    publish(
        found,
        ReportContext("m"),
        moment=datetime(2026, 1, 31, 1),
        shown=("1 unscored",),
    )
    assert warnings(caplog) == ["1 cut off"]
    assert not any(line.startswith("spent ") for line in caplog.messages)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", [Told([text("a")], [text("b")])], results={})


def test_the_end_of_a_run_has_its_page_or_one_warning(
    run: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (results,) = run.glob("results_*.json")
    with caplog.at_level(logging.INFO):
        assert write_at_end(run, results) == run / "report" / "index.html"
    assert caplog.messages == []
    (run / "report").rename(run / "before")
    (run / "report").write_text("not a folder")
    assert write_at_end(run, results) is None
    assert [f"; mmeval report {run} " in line for line in warnings(caplog)] == [True]


def test_ctrl_c_during_the_report_names_the_command_that_makes_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mmeval.report.page.write_report", stopped)
    with pytest.raises(Interrupted, match=f"mmeval report {run}") as found:
        write_at_end(run, next(run.glob("results_*.json")))
    assert found.value.exit_code == 130
