from pathlib import Path

from mmeval.report.layouts.formats.text import text_tables
from mmeval.report.markdown import text_width
from tests.support.layouts import layout_of, model, tables_of

TASKS = "abcdefghijkl"
LAYOUT = f"""
layout: wide
axes: {{rows: models, columns: tasks}}
number: m
best: {{}}
keys:
  tasks:
    - header: All of them
      columns: [{", ".join(f"{{header: Task {name}, task: {name}}}" for name in TASKS)}]
tables: [{{name: "1"}}]
"""


def lines(folder: Path, *names: str) -> list[str]:
    models = [
        model(name, dict.fromkeys(TASKS, float(place)), "A group")
        for place, name in enumerate(names)
    ]
    return text_tables(tables_of(layout_of(folder, LAYOUT), models)).splitlines()


def test_a_line_has_at_most_80_columns(tmp_path: Path) -> None:
    found = lines(tmp_path, "long name " * 20, "漢字" * 5)
    assert max(map(text_width, found)) <= 80


def test_each_column_is_printed_once(tmp_path: Path) -> None:
    text = " ".join(lines(tmp_path, "x"))
    assert [text.count(f"Task {name}") for name in TASKS] == [1] * len(TASKS)


def test_a_star_marks_the_best_cells(tmp_path: Path) -> None:
    found = lines(tmp_path, "x", "y")
    assert [line.count("1.000*") for line in found if line.startswith("  y")] == [9, 3]
    assert found[-1] == "* the best of its block"


def test_control_characters_are_not_printed(tmp_path: Path) -> None:
    assert "\x1b" not in "".join(lines(tmp_path, "a\x1b[2J"))
