import json
import math
from pathlib import Path
from typing import Any

import pytest

from mmeval.metrics.judged.ueval.rows import CLOSED, OPEN, TASKS
from mmeval.tasks.ueval.averages import SideMeans, TaskAverages, over_tasks, roll_up

PUBLISHED: dict[str, dict[str, list[float]]] = json.loads(
    Path(__file__).with_name("published.json").read_text("utf-8")
)
"""The printed cells of tables 1, 2 and 4 by model: image, text and score of a task; the
means over the closed and open tasks, and over all."""
HALF_SUM, MEAN = 0.1, 0.075
"""How far rounding to one digit can bring a half-sum, and a plain mean, from the
printed one."""


def row(task: str, text: float | None, image: float | None) -> dict[str, Any]:
    return {"task": task, "text": text, "image": image}


def test_sides_are_averaged_within_a_task_then_the_two_sides_and_then_the_tasks() -> (
    None
):
    found = roll_up(
        [row("art", 1.0, 0.5), row("art", 0.5, None), row("space", 0.0, 0.2)]
    )
    assert found["tasks"]["art"] == {"text": 0.75, "image": 0.5, "score": 0.625}
    assert found["tasks"]["space"] == {"text": 0.0, "image": 0.2, "score": 0.1}
    assert (found["text"], found["image"], found["score"]) == (
        0.375,
        0.35,
        pytest.approx(0.3625),
    )
    assert (found["question_text"], found["question_image"]) == (0.5, 0.35)


def test_a_task_has_the_side_that_it_has_and_one_without_any_is_in_no_mean() -> None:
    found = roll_up(
        [row("art", 0.5, None), row("life", None, None), row("tech", 0.25, 1.0)]
    )
    assert found["tasks"]["art"] == {"text": 0.5, "image": None, "score": 0.5}
    assert found["tasks"]["life"] == {"text": None, "image": None, "score": None}
    assert (found["text"], found["image"], found["score"]) == (0.375, 1.0, 0.5625)
    nothing: SideMeans = {"text": None, "image": None, "score": None}
    assert roll_up([]) == {
        "tasks": {},
        **nothing,
        "question_text": None,
        "question_image": None,
    }


def printed(model: str) -> TaskAverages:
    """``roll_up`` of a model's printed cells, a question for each task."""
    cells = PUBLISHED[model]
    return roll_up([row(task, cells[task][1], cells[task][0]) for task in TASKS])


def test_each_of_the_90_cells_of_table_1_is_recomputed() -> None:
    checked = 0
    for model, cells in PUBLISHED.items():
        found = printed(model)
        for task in TASKS:
            assert found["tasks"][task]["score"] == pytest.approx(
                cells[task][2], abs=HALF_SUM
            ), (model, task)
        means = math.fsum(cells[task][2] for task in TASKS) / len(TASKS)
        assert (found["score"], means) == (
            pytest.approx(cells["all"][2], abs=MEAN),
        ) * 2, model
        checked += len(TASKS) + 1
    assert checked == 90


def test_the_means_over_tasks_are_those_of_tables_2_and_4() -> None:
    for model, cells in PUBLISHED.items():
        tasks = printed(model)["tasks"]
        for name, own in (("closed", CLOSED), ("open", OPEN), ("all", TASKS)):
            found = over_tasks([tasks[task] for task in own])
            assert (found["image"], found["text"]) == pytest.approx(
                cells[name][:2], abs=MEAN
            ), (model, name)


def page_rows() -> list[str]:
    """The rows of the page's two tables: the printed cells of each model."""
    tasks = []
    means = []
    for model, cells in PUBLISHED.items():
        scores = [cells[name][2] for name in (*TASKS, "all")]
        tasks.append(_line(model, scores))

        sides = [*cells["closed"][:2], *cells["open"][:2], *cells["all"][:2]]
        means.append(_line(model, sides))
    return tasks + means


def _line(model: str, values: list[float]) -> str:
    cells = [f"{value:.1f}" for value in values]
    return f"|{model}|{'|'.join(cells)}|"


def test_the_page_has_each_printed_cell() -> None:
    """``python -m tests.tasks.ueval.test_averages`` prints the rows."""
    page = Path(__file__).parents[3] / "docs" / "reproducing" / "ueval.md"
    text = page.read_text("utf-8")
    assert [row for row in page_rows() if row not in text] == []


if __name__ == "__main__":
    print("\n".join(page_rows()))
