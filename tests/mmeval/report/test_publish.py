import logging
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import Interrupted
from mmeval.findings.finding import Finding, Subject
from mmeval.report.publish import publish, write_at_end
from mmeval.run.costs.prices import Bill
from mmeval.settings.report_options import ReportContext
from mmeval.store.spending import CallTotals, ModelEndpoint
from tests.support.outcomes import outcome, result, task
from tests.support.stored_runs import WrittenTrial, text, write_run


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelname == "WARNING"
    ]


LOST = Finding("unscored", Subject("a"), 1, 10)
CUT = Finding("cut_off", Subject("a"), 1, 10, severity="note")


@pytest.mark.parametrize(
    ("shown", "lines"),
    [
        ((), ["unscored  a  1 of 10", "cut off   a  1 of 10"]),
        ((LOST,), ["cut off  a  1 of 10"]),
        ((LOST, CUT), []),
    ],
    ids=["none", "one", "all"],
)
def test_findings_are_one_warning_but_for_those_that_were_shown(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    shown: tuple[Finding, ...],
    lines: list[str],
) -> None:
    bills = (
        Bill(ModelEndpoint("model", "m"), CallTotals(calls=1, answered=1), usd=None),
    )
    more: dict[str, Any] = {"findings": (LOST, CUT), "bills": bills}
    found = outcome(tmp_path, result("a"), tasks=(task("a"),), **more)
    with caplog.at_level(logging.INFO, "mmeval"):
        publish(found, ReportContext("m"), moment=datetime(2026, 1, 31), shown=shown)
    text = "\n".join(warnings(caplog))
    assert text.splitlines()[1:] == lines
    assert not any(line.startswith("spent ") for line in caplog.messages)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(
        tmp_path / "run", [WrittenTrial([text("a")], [text("b")])], results={}
    )


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
