import re
from pathlib import Path

import pytest

from mmeval.report.layouts.formats.latex import latex_tables
from tests.support.layouts import layout_of, model, tables_of

LAYOUT = """
layout: nested
axes: {blocks: levels, rows: models, columns: tasks}
decimals: 1
best: {}
keys:
  levels: [{header: One, number: m}, {header: Two, number: n}]
  tasks:
    - {header: Both & more, columns: [{header: A, task: a}, {header: B, task: b}]}
    - {header: Alone, task: c}
tables: [{name: "1", title: "50 % of {all}"}]
"""
HOSTILE = r"\input{x} $^_&#%~|<>\" [b] } { \begin{x}"


def written(folder: Path, *names: str, more: str = "") -> str:
    models = []
    for place, name in enumerate(names):
        numbers = {f"{task}|m": float(place) for task in "abc"}
        models.append(model(name, {**numbers, "a|n": "lost"}, "A group"))
    return latex_tables(tables_of(layout_of(folder, LAYOUT + more), models))


def test_headers_span_their_columns(tmp_path: Path) -> None:
    lines = written(tmp_path, "x").splitlines()
    start = lines.index(r"\toprule")
    assert lines[start + 1 : start + 4] == [
        r" & \multicolumn{2}{c}{Both \& more} &  \\",
        r"\cmidrule(lr){2-3}",
        r"Model & A & B & Alone \\",
    ]


def test_blocks_and_groups_have_headings(tmp_path: Path) -> None:
    text = written(tmp_path, "x")
    assert r"\multicolumn{4}{l}{\textit{One}} \\" in text
    assert r"\multicolumn{4}{l}{\textit{A group}} \\" in text


def test_the_best_cell_is_bold_and_a_published_row_is_marked(tmp_path: Path) -> None:
    text = written(tmp_path, "x", "y")
    assert r"y\textdagger{} & \textbf{1.0} & \textbf{1.0} & \textbf{1.0} \\" in text


def test_a_wide_table_is_printed_in_bands(tmp_path: Path) -> None:
    text = written(tmp_path, "x", more="wrap: 2\n")
    assert re.findall(r"\\begin{tabular}{(\w+)}", text) == ["lrr", "lr"]


def test_foreign_text_is_escaped(tmp_path: Path) -> None:
    text = written(tmp_path, HOSTILE)
    assert r"\input" not in text
    assert r"\begin{x}" not in text


@pytest.mark.parametrize("name", [HOSTILE, "[x]", "* y", "a\nb", "=1+1"])
def test_a_table_is_well_formed(tmp_path: Path, name: str) -> None:
    _check_latex(written(tmp_path, name, "other"))


def _check_latex(text: str) -> None:
    """Fails where braces or environments are not closed, a special character is not
    escaped, or a row has another number of columns than its table."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    plain = re.sub(r"\\[{}$&#_%]", "", body)
    assert plain.count("{") == plain.count("}")
    assert not re.search(r"[#%_^~|<>\"]", plain)
    assert plain.replace(r"$\pm$", "").count("$") == 0
    tables = re.findall(r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", plain, re.S)
    assert len(tables) == plain.count(r"\begin{") == plain.count(r"\end{") > 0
    for columns, rows in tables:
        for row in rows.split(r"\\")[:-1]:
            spans = [int(span) - 1 for span in re.findall(r"multicolumn{(\d+)}", row)]
            assert row.count("&") + sum(spans) + 1 == len(columns)
            # a bracket here would be read as the argument of the line break
            assert not row.lstrip("\n").startswith(("[", "*"))
