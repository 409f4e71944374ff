from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.errors import MissingExtraError, UnknownNameError, UsageError
from mmeval.installation import install_command
from mmeval.report.loggers.contract import create_loggers, flat_numbers, log_results, need_package, table_rows
from mmeval.report.results_file import Published
from mmeval.run.options import RunOutcome
from mmeval.task.task import Group, GroupMetric
from tests.support.outcomes import outcome, result, task


class Noting:
    """Writes down what it is given; ``fails`` is what it does instead."""

    def __init__(self, *, file: str, fails: str = "") -> None:
        self._file, self._fails = Path(file), fails

    def log(self, found: RunOutcome, published: Published) -> None:
        print("a logger talks")
        if self._fails:
            raise {"error": OSError("no server"), "exit": SystemExit(3)}[self._fails]
        self._file.write_text(json.dumps([found.exit_code, published.table]))


@pytest.fixture
def noting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The logger as a plugin."""
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.loggers", "noting", Noting)


def made(folder: Path) -> tuple[RunOutcome, Published]:
    groups = (Group("g", "g", ("a",), (GroupMetric("half"),)),)
    results = (result("a", 0.5, failed=2), result("a", 0.9, slice="level=1"), result("a", None, metric="other"))
    found = outcome(folder, *results, result("g", 0.25), tasks=(task("a"),), groups=groups)
    return found, Published("a table", folder / "results.json", {})


def test_a_logger_gets_what_a_run_left(tmp_path: Path, noting: None, capsys: pytest.CaptureFixture[str]) -> None:
    loggers = create_loggers({"noting": {"file": str(tmp_path / "noted")}})
    log_results(loggers, *made(tmp_path))
    assert json.loads((tmp_path / "noted").read_text()) == [0, "a table"]
    assert capsys.readouterr() == ("", "a logger talks\n")  # stdout holds the tables alone


@pytest.mark.parametrize(("fails", "said"), [("error", "OSError: no server"), ("exit", "SystemExit: 3")])
def test_a_logger_that_fails_is_a_warning_and_the_next_one_has_its_turn(
    fails: str, said: str, tmp_path: Path, noting: None, caplog: pytest.LogCaptureFixture
) -> None:
    bad = create_loggers({"noting": {"file": "", "fails": fails}})["noting"]
    good = create_loggers({"noting": {"file": str(tmp_path / "noted")}})["noting"]
    log_results({"bad": bad, "good": good}, *made(tmp_path))
    assert caplog.messages == [f"the logger 'bad' failed ({said}); the results are in {tmp_path / 'results.json'}"]
    assert (tmp_path / "noted").exists()


@pytest.mark.parametrize(
    ("named", "error", "said"),
    [
        ({"nothing": {}}, UnknownNameError, "unknown logger 'nothing'"),
        ({"noting": {}}, UsageError, "the logger 'noting': missing a required argument: 'file'"),
        ({"noting": {"file": "", "flie": 1}}, UsageError, "unexpected keyword argument 'flie'"),
    ],
    ids=["unknown", "missing argument", "unknown argument"],
)
def test_a_logger_that_cannot_be_made_is_found_before_the_run(
    named: dict[str, Any], error: type[Exception], said: str, noting: None
) -> None:
    with pytest.raises(error) as caught:
        create_loggers(named)
    assert said in str(caught.value)


def test_a_package_that_is_missing_is_named_with_what_installs_it() -> None:
    with pytest.raises(MissingExtraError) as caught:
        need_package("no_such_package", "wandb")
    assert caught.value.command == install_command("wandb")


def test_numbers_are_flat_and_unknown_ones_are_left_out(tmp_path: Path) -> None:
    numbers = flat_numbers(made(tmp_path)[0])
    assert (numbers["a/half"], numbers["a/half_scored"], numbers["a/half_n"], numbers["g/half"]) == (0.5, 8, 10, 0.25)
    assert "a/other" not in numbers
    assert numbers["a/other_n"] == 10


def test_a_table_of_all_results_has_slices_and_groups(tmp_path: Path) -> None:
    columns, rows = table_rows(made(tmp_path)[0])
    assert [dict(zip(columns, row, strict=True))["slice"] for row in rows] == ["", "level=1", "", ""]
