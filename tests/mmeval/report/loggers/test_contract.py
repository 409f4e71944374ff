import json
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.errors import MissingExtraError, UnknownNameError, UsageError
from mmeval.report.loggers.contract import create_loggers, flat_numbers, log_results
from mmeval.report.loggers.trackio import TrackioLogger
from mmeval.report.loggers.wandb import WandbLogger
from mmeval.report.results_file import PublishedResults
from mmeval.run.options import RunOutcome
from mmeval.task.task import Group, GroupMetric
from tests.support.outcomes import outcome, result, task


class Noting:
    """Writes down what it is given; ``fails`` is what it raises instead."""

    def __init__(self, *, file: str, fails: str = "") -> None:
        self._file, self._fails = Path(file), fails

    def log(self, found: RunOutcome, published: PublishedResults) -> None:
        print("a logger talks")
        if self._fails:
            raise {"error": OSError("no server"), "exit": SystemExit(3)}[self._fails]
        self._file.write_text(json.dumps([found.exit_code, published.table]))


@pytest.fixture(autouse=True)
def _noting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.loggers", "noting", Noting)


def made(folder: Path) -> tuple[RunOutcome, PublishedResults]:
    groups = (Group("g", "g", ("a",), (GroupMetric("half"),)),)
    results = (
        result("a", 0.5, failed=2),
        result("a", 0.9, slice="level=1"),
        result("a", None, metric="other"),
    )
    found = outcome(
        folder, *results, result("g", 0.25), tasks=(task("a"),), groups=groups
    )
    return found, PublishedResults("a table", folder / "results.json", {})


@pytest.mark.parametrize(
    ("fails", "why"),
    [("", ""), ("error", "OSError: no server"), ("exit", "SystemExit: 3")],
    ids=str,
)
def test_a_logger_gets_what_a_run_left_though_one_before_it_fails_with_a_warning(
    fails: str,
    why: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    files = [
        {"file": str(tmp_path / "other"), "fails": fails},
        {"file": str(tmp_path / "noted")},
    ]
    bad, good = (create_loggers({"noting": given})["noting"] for given in files)
    log_results({"bad": bad, "good": good}, *made(tmp_path))
    assert json.loads((tmp_path / "noted").read_text()) == [0, "a table"]
    assert [("'bad'" in line, why in line) for line in caplog.messages] == (
        [(True, True)] if fails else []
    )
    # stdout holds the tables alone
    assert capsys.readouterr() == ("", "a logger talks\n" * 2)


def test_a_logger_that_cannot_be_made_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="'nothing'"):
        create_loggers({"nothing": {}})
    with pytest.raises(UsageError, match=r"missing .* 'file'"):
        create_loggers({"noting": {}})
    with pytest.raises(UsageError, match=r"unexpected .* 'flie'"):
        create_loggers({"noting": {"file": "", "flie": 1}})


def test_numbers_are_flat_and_unknown_ones_are_left_out(tmp_path: Path) -> None:
    numbers = flat_numbers(made(tmp_path)[0])
    assert numbers == {
        "a/half": 0.5,
        "a/half_stderr": 0.1,
        "a/half_scored": 8,
        "a/half_n": 10,
        "a/other_scored": 10,
        "a/other_n": 10,
        "g/half": 0.25,
        "g/half_stderr": 0.1,
        "g/half_scored": 10,
        "g/half_n": 10,
    }


@pytest.mark.parametrize("logger", [TrackioLogger, WandbLogger])
def test_a_logger_needs_its_package(
    logger: type[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        logger()
    assert caught.value.extra == "loggers"
