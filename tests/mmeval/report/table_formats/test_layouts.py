import csv
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.report.table_formats.layouts import (
    csv_tables,
    latex_tables,
    layouts_at_end,
    markdown_tables,
)
from mmeval.results.layout import Table
from mmeval.results.stored_run import StoredRun
from tests.support.stored_runs import Told, text, write_run

TABLE = Table(
    "Two | of 50%",
    ("Task", "Value", "Why"),
    (("a_b", 0.12345, ""), ("=x", None, "lost | gone")),
    ("Note",),
)


def test_markdown_latex_and_csv_have_title_rows_and_notes_and_escape_what_comes_from_outside() -> (
    None
):
    title, empty, *lines, rest, note = markdown_tables([TABLE]).splitlines()
    assert title == TABLE.title
    assert empty == ""
    assert rest == ""
    assert note == "Note"
    assert lines == [
        "|Task|Value|Why         |",
        "|----|----:|------------|",
        *lines[2:],
    ]
    assert lines[2:] == ["|a_b |0.123|            |", "|=x  |  N/A|lost \\| gone|"]
    assert markdown_tables([Table("t", ("A", "B"), ())]) == "t\n\n|A|B|\n|-|-|\n"
    lines = latex_tables([TABLE]).splitlines()
    rows = [
        r"Task & Value & Why \\",
        r"a\_b & 0.123 &  \\",
        r"=x & N/A & lost \textbar{} gone \\",
    ]
    assert [line for line in lines if line.endswith(r"\\")] == rows
    assert (lines[2], lines[-1]) == (
        r"\begin{tabular}{lrl}",
        r"\par{\footnotesize Note\par}",
    )
    head, *cells = csv.reader(io.StringIO(csv_tables([TABLE])))
    assert head == ["table", "row", "column", "value"]
    assert {row[0] for row in cells} == {TABLE.title}
    assert [row[1:] for row in cells] == [
        ["a_b", "Value", "0.12345"],
        ["a_b", "Why", ""],
        ["'=x", "Value", ""],
        ["'=x", "Why", "lost | gone"],
        ["", "note", "Note"],
    ]
    hostile = Table("a\x1b[2J", ("B\x1b[2J",), (("c\x1b[2J",),), ("d\x1b[2J",))
    assert "\x1b" not in markdown_tables([hostile]) + latex_tables(
        [hostile]
    ) + csv_tables([hostile])


def broken(run: StoredRun) -> Iterator[Table]:
    raise KeyError(run.name)


def test_a_layout_that_fails_costs_its_tables_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.layouts", "broken", broken)
    run = write_run(
        tmp_path,
        [Told([text("a")], [text("b")])],
        config={"layout": "broken"},
        results={},
    )
    with caplog.at_level(logging.WARNING):
        assert layouts_at_end(run, next(run.glob("results_*.json"))) == ""
    (warning,) = caplog.messages
    assert f"mmeval report {run} --layout broken " in warning
