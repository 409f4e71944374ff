from __future__ import annotations

import csv
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.report.layout_text import csv_tables, latex_tables, layouts_at_end, markdown_tables
from mmeval.results.layout import Table
from mmeval.results.stored_run import StoredRun
from tests.support.stored_run import Told, text, write_run

TABLE = Table("Two | of 50%", ("Task", "Value", "Why"), (("a_b", 0.12345, ""), ("=x", None, "lost | gone")), ("Note",))


def test_markdown_has_the_title_above_and_the_notes_below() -> None:
    assert markdown_tables([TABLE]) == (
        "Two | of 50%\n\n"
        "|Task|Value|Why         |\n"
        "|----|----:|------------|\n"
        "|a_b |0.123|            |\n"
        "|=x  |  N/A|lost \\| gone|\n\n"
        "Note\n"
    )


def test_latex_escapes_what_comes_from_outside() -> None:
    text = latex_tables([TABLE])
    assert r"\begin{tabular}{lrl}" in text
    assert r"a\_b & 0.123 &  \\" in text
    assert r"=x & N/A & lost \textbar{} gone \\" in text


def test_csv_has_a_line_for_each_cell_with_whole_numbers() -> None:
    rows = list(csv.reader(io.StringIO(csv_tables([TABLE]))))
    assert rows == [
        ["table", "row", "column", "value"],
        ["Two | of 50%", "a_b", "Value", "0.12345"],
        ["Two | of 50%", "a_b", "Why", ""],
        ["Two | of 50%", "'=x", "Value", ""],
        ["Two | of 50%", "'=x", "Why", "lost | gone"],
        ["Two | of 50%", "", "note", "Note"],
    ]


def test_text_that_would_steer_a_terminal_is_made_harmless() -> None:
    hostile = Table("a\x1b[2J", ("B\x1b[2J",), (("c\x1b[2J",),), ("d\x1b[2J",))
    assert "\x1b" not in markdown_tables([hostile]) + latex_tables([hostile]) + csv_tables([hostile])


def test_a_table_without_rows_is_one() -> None:
    assert markdown_tables([Table("t", ("A", "B"), ())]) == "t\n\n|A|B|\n|-|-|\n"


def broken(run: StoredRun) -> Iterator[Table]:
    raise KeyError(run.name)


def test_a_layout_that_fails_costs_a_run_nothing_but_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plugins, "_of_script", {group: {} for group in plugins.GROUPS})
    plugins.register("mmeval.layouts", "broken", broken)
    run = write_run(tmp_path, [Told([text("a")], [text("b")])], config={"layout": "broken"}, results={})
    with caplog.at_level(logging.WARNING):
        assert layouts_at_end(run, next(run.glob("results_*.json"))) == ""
    assert "the layout 'broken' failed" in caplog.text
    assert f"mmeval report {run} --layout broken prints them" in caplog.text


def test_a_table_says_how_many_digits_its_numbers_have() -> None:
    percent = Table("t", ("A", "B"), (("a", 12.345),), digits=1)
    assert "|a|12.3|" in markdown_tables([percent])
    assert r"a & 12.3 \\" in latex_tables([percent])
    assert "t,a,B,12.345" in csv_tables([percent])
