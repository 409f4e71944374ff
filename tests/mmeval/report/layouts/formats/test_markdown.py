from pathlib import Path

from mmeval.report.layouts.formats.markdown import markdown_tables
from tests.support.layouts import layout_of, model, tables_of

LAYOUT = """
layout: plain
title: A paper
axes: {rows: models, columns: tasks}
number: m
decimals: 1
best: {}
keys: {tasks: [{header: A, task: a}, {header: B, task: b}]}
tables: [{name: "1", title: all}]
"""


def test_a_table_has_its_title_headings_and_notes(tmp_path: Path) -> None:
    models = [
        model("x|y", {"a": 0.1, "b": 0.2}, "Open"),
        model("z", {"a": 0.3, "b": "cannot"}),
    ]
    tables = tables_of(layout_of(tmp_path, LAYOUT), models)
    assert markdown_tables(tables).splitlines() == [
        "A paper, table 1: all",
        "",
        "|Model    |      A|      B|",
        "|---------|------:|------:|",
        "|**Open** |       |       |",
        "|x\\|y†    |    0.1|**0.2**|",
        "|**other**|       |       |",
        "|z†       |**0.3**|      -|",
        "",
        "† published: paper.csv",
    ]
