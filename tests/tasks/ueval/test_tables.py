"""The cells that UEval's paper prints follow from its sides by the layout."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.metrics.judged.ueval.rows import TASKS
from mmeval.task.layout_file import layout_file
from tests.support.layouts import model, tables_of

PUBLISHED: dict[str, dict[str, list[float]]] = json.loads(
    Path(__file__).with_name("published.json").read_text("utf-8")
)
"""The printed cells of a model in percent, by task and mean: image, text, score."""
MEAN = 0.00075
"""How far rounding to one digit can bring a plain mean from the printed one."""


def cells_of(name: str) -> dict[tuple[str, str], float | None]:
    """The values of a model's cells, by table and column."""
    numbers: dict[str, Any] = {}
    for task in TASKS:
        image, text, score = PUBLISHED[name][task]
        numbers[f"ueval_{task}|ueval_image"] = image / 100
        numbers[f"ueval_{task}|ueval_text"] = text / 100
        numbers[f"ueval_{task}|ueval_score"] = score / 100
    layout = layout_file("ueval")
    assert layout is not None
    cells = {}
    for table in tables_of(layout, [model(name, numbers)]):
        for column, cell in zip(
            table.columns, table.blocks[0].rows[0].cells, strict=True
        ):
            cells[table.name, column.text] = cell.value
    return cells


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_means_over_tasks_are_those_of_tables_1_and_4(name: str) -> None:
    cells, printed = cells_of(name), PUBLISHED[name]
    found = [
        cells["1", "Avg"],
        cells["4a", "Avg Image"],
        cells["4a", "Avg Text"],
        cells["4b", "Avg Image"],
        cells["4b", "Avg Text"],
    ]
    expected = [printed["all"][2], *printed["closed"][:2], *printed["open"][:2]]
    assert found == pytest.approx([cell / 100 for cell in expected], abs=MEAN)


def page_rows() -> list[str]:
    """The rows of the page's two tables: the printed cells of each model."""
    tasks = []
    means = []
    for name, cells in PUBLISHED.items():
        scores = [cells[task][2] for task in (*TASKS, "all")]
        tasks.append(_line(name, scores))

        sides = [*cells["closed"][:2], *cells["open"][:2], *cells["all"][:2]]
        means.append(_line(name, sides))
    return tasks + means


def _line(name: str, values: list[float]) -> str:
    cells = [f"{value:.1f}" for value in values]
    return f"|{name}|{'|'.join(cells)}|"


def test_the_page_has_each_printed_cell() -> None:
    """``python -m tests.tasks.ueval.test_tables`` prints the rows."""
    page = Path(__file__).parents[3] / "docs" / "reproducing" / "ueval.md"
    text = page.read_text("utf-8")
    assert [row for row in page_rows() if row not in text] == []


if __name__ == "__main__":
    print("\n".join(page_rows()))
