"""Published tables give a value for each task, and averages: the averages must follow
from the values."""

import json
import math
from pathlib import Path

import pytest

from mmeval.tasks.mmmg.averages import average, interval
from mmeval.tasks.mmmg.categories import CATEGORIES

TASKS = ("a", "b", "c", "d")
PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text("utf-8"))
"""Figures of the authors. ``leaderboard``, by category and model, best first: the
average of each group (null where the model can do none of its tasks), and that of the
category. ``tables`` of the paper: a row for each task, by its authors' id or its name
there, and for each column the printed average, then the rows (null where there is
none)."""
BOARD, TABLES = PUBLISHED["leaderboard"], PUBLISHED["tables"]


def test_an_average_counts_every_task_the_same_and_no_other_task() -> None:
    assert average({"a": 0.25, "b": 0.5, "c": 0.75, "d": 1.0}, TASKS) == 0.625
    assert average({"a": 0.5, "elsewhere": 1.0}, TASKS) == 0.5
    values = {"a": 0.5, "b": 0.25}
    assert (average(values, TASKS), average(values, TASKS, absent="zero")) == (
        0.375,
        0.1875,
    )
    assert (average({}, TASKS), average({}, TASKS, absent="zero")) == (None, 0.0)


def test_the_interval_of_a_category_averages_the_passes_over_its_tasks_first() -> None:
    passes = {
        "a": [0.0, 1.0, 0.0, 1.0],
        "b": [1.0, 0.0, 1.0, 0.0],
        "c": [0.5, 0.5, 0.5, 1.0],
    }
    found = interval(passes, TASKS)
    means = [0.5, 0.5, 0.5, 2 / 3]
    mean = sum(means) / 4
    deviation = math.sqrt(sum((value - mean) ** 2 for value in means) / 3)
    assert found is not None
    assert (found.mean, found.half_width) == (
        pytest.approx(mean),
        pytest.approx(1.96 * deviation / 2),
    )


@pytest.mark.parametrize(
    "passes",
    [{}, {"a": [0.5, 1.0], "b": [1.0]}, {"a": []}],
    ids=["none", "unequal", "never"],
)
def test_without_the_same_passes_there_is_no_interval(
    passes: dict[str, list[float]],
) -> None:
    assert interval(passes, TASKS) is None


@pytest.mark.parametrize(
    ("kind", "model"), [(kind, model) for kind, rows in BOARD.items() for model in rows]
)
def test_a_published_average_follows_from_the_published_groups(
    kind: str, model: str
) -> None:
    row = BOARD[kind][model]
    groups = next(one.groups for one in CATEGORIES if one.name == kind)
    assert row.keys() == {*groups, "overall"}
    values = {
        task: row[group]
        for group, tasks in groups.items()
        if row[group] is not None
        for task in tasks
    }
    tasks = [task for tasks in groups.values() for task in tasks]
    assert average(values, tasks, absent="zero") == pytest.approx(
        row["overall"], abs=1e-12
    )


def test_52_of_the_papers_54_averages_follow_from_their_rows() -> None:
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for name, table in TABLES.items():
        for column, (printed, *values) in table["columns"].items():
            given = {
                row: value
                for row, value in zip(table["rows"], values, strict=True)
                if value is not None
            }
            found[name, column] = (
                printed,
                round(average(given, table["rows"]) or 0, 4),
            )
    assert len(found) == 54
    assert {
        key: both for key, both in found.items() if abs(both[0] - both[1]) > 0.001
    } == {
        ("table 12", "Gemini 2.5 + VoiceLDM"): (0.427, 0.4315),
        ("table 8, image, correlation", "GPT-4o"): (0.881, 0.8877),
    }
