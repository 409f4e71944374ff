import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.errors import UsageError
from mmeval.report.layouts.made import layouts_at_end, made
from mmeval.report.layouts.rows import OpenRun, PublishedRows
from mmeval.results.layout import Table
from mmeval.results.stored_run import StoredRun
from tests.support.layouts import shown
from tests.support.stored_runs import WrittenTrial, text, write_run


def plain(run: StoredRun) -> Iterator[Table]:
    rows = tuple((task.name, 0.25, None, "why") for task in run.tasks)
    yield Table("a table", ("Task", "A", "B", "C"), rows, digits=1)


def broken(run: StoredRun) -> Iterator[Table]:
    raise KeyError(run.name)


@pytest.fixture(autouse=True)
def _layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.layouts", "plain", plain)
    plugins.register("mmeval.layouts", "broken", broken)


def stored(folder: Path) -> StoredRun:
    trials = [WrittenTrial([text("a")], [text("b")])]
    return StoredRun(write_run(folder, trials, results={}))


def test_a_function_makes_the_tables_of_each_run(tmp_path: Path) -> None:
    runs = [OpenRun(stored(tmp_path / name), name) for name in ("x", "y")]
    first, second = made("plain", runs).tables
    assert (first.title, second.title) == ("x: a table", "y: a table")
    assert shown(first) == [["told", "0.2", "N/A", "why"]]


def test_a_function_cannot_show_published_numbers(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot show published numbers"):
        made("plain", [PublishedRows(tmp_path / "paper.csv")])


def test_a_layout_that_fails_costs_its_tables_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = write_run(
        tmp_path,
        [WrittenTrial([text("a")], [text("b")])],
        config={"layout": "broken"},
        results={},
    )
    with caplog.at_level(logging.WARNING):
        assert layouts_at_end(run, next(run.glob("results_*.json"))) == ""
    (warning,) = caplog.messages
    assert f"mmeval report {run} --layout broken " in warning
