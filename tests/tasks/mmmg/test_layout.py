import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.records.score import Score
from mmeval.results.layout import Table
from mmeval.tasks.mmmg.categories import CATEGORIES
from mmeval.tasks.mmmg.layout import layout
from tests.support.stored_runs import Row, stored

Rows = Sequence[Sequence[Any]]
"""By sample and repeat: a value, a Score, or the status of a trial without an
answer."""


def rows_of(given: Rows, files: Sequence[str]) -> Iterator[Row]:
    """Rows of scores; ``files`` are the labels of the samples, in a task of several
    instruction files."""
    for at, repeats in enumerate(given):
        for repeat, one in enumerate(repeats):
            row: Row = {
                "i": at,
                "n": repeat,
                "s": f"s{at}",
                "d": "d",
                "status": "ok",
                "scores": {},
            }
            if isinstance(one, str):
                row["status"] = one
            else:
                row["scores"] = {
                    "overall": (one if isinstance(one, Score) else Score(one)).to_json()
                }
            yield row | ({"labels": {"file": files[at]}} if files else {})


def tables(
    folder: Path, tasks: Mapping[str, Rows], files: Sequence[str] = (), **ours: Any
) -> dict[str, Table]:
    rows = {name: rows_of(given, files) for name, given in tasks.items()}
    run = stored(folder, rows, layout="mmmg", numbers=["overall"], **ours)
    return {table.title: table for table in layout(run)}


def task_rows(
    folder: Path, tasks: Mapping[str, Rows], files: Sequence[str] = (), **ours: Any
) -> tuple[tuple[Any, ...], ...]:
    return tables(folder, tasks, files, **ours)["MMMG, image: tasks"].rows


def averages(
    folder: Path, tasks: Mapping[str, Rows], **ours: Any
) -> dict[Any, tuple[Any, ...]]:
    """Paper, half width, leaderboard, tasks and what lacks of each average."""
    (table,) = [
        table
        for title, table in tables(folder, tasks, **ours).items()
        if "averages" in title
    ]
    return {row[0]: row[1:] for row in table.rows}


def numbers(row: Sequence[Any]) -> list[Any]:
    return [round(value, 4) if isinstance(value, float) else value for value in row]


PARITY: Rows = [[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]]
LOST = Score.lost("the judge is gone")
NO_JUDGE = Score.unavailable("no judge")


def test_a_task_has_its_value_with_the_interval_of_the_released_scorer(
    tmp_path: Path,
) -> None:
    found = tables(
        tmp_path, {"mmmg_object_count": PARITY}, not_comparable=["mmmg_object_count"]
    )
    assert [title.partition(" (")[0] for title in found] == [
        "MMMG, image: tasks",
        "MMMG: averages",
    ]
    table = found["MMMG, image: tasks"]
    assert numbers(table.rows[0]) == ["object_count", 0.6667, 0.2667, "12/12", ""]
    _, missing, bundled = table.notes
    assert re.findall(r"\d+", missing) == ["13", "14"]
    assert "bundled" in bundled


def test_the_languages_of_a_task_count_a_half_each_and_without_one_of_them_there_is_no_interval(
    tmp_path: Path,
) -> None:
    given: dict[str, Rows] = {
        "mmmg_multilingual_text_rendering": [
            [1.0, 1.0],
            [0.0, 0.5],
            [0.0, LOST],
            [0.0, 0.5],
        ]
    }
    rows = task_rows(tmp_path, given, files=["zh", "de", "de", "de"])
    # by pass: (1 + 0) / 2 and (1 + 0.5) / 2; the whole: (1 + 1 / 5) / 2
    assert numbers(rows[0][1:4]) == [0.6, round(1.96 * 0.125, 4), "7/8"]
    given = {"mmmg_multilingual_text_rendering": [[1.0, 1.0], [0.0, LOST]]}
    rows = task_rows(tmp_path / "other", given, files=["zh", "de"])
    assert numbers(rows[0][1:3]) == [0.5, None]


def test_tasks_come_in_the_order_of_the_paper_and_other_tasks_have_no_table(
    tmp_path: Path,
) -> None:
    table = tables(tmp_path, dict.fromkeys(reversed(CATEGORIES[0].tasks), PARITY))[
        "MMMG, image: tasks"
    ]
    assert [f"mmmg_{row[0]}" for row in table.rows] == list(CATEGORIES[0].tasks)
    assert len(table.notes) == 1
    assert tables(tmp_path / "other", {"other": PARITY}) == {}


def test_a_task_without_a_value_has_the_reasons(tmp_path: Path) -> None:
    given: dict[str, Rows] = {
        "mmmg_object_count": [[1.0, LOST], [1.0, "failed"]],
        "mmmg_object_exclusion": [[NO_JUDGE, NO_JUDGE]],
        "mmmg_object_inclusion": [["unsupported", "unsupported"]],
        "mmmg_region_fill": [],
        "mmmg_border_fill": [[LOST, "failed"]],
    }
    rows = task_rows(tmp_path, given, left_out={"mmmg_object_reasoning": "no file"})
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [
        ("object_inclusion", None, "0/2", "unsupported"),
        ("object_exclusion", None, "0/2", "unavailable"),
        ("object_count", 1.0, "2/4", "1 failed, 1 unscored"),
        ("mmmg_object_reasoning", None, "", "left out"),
        ("region_fill", None, "0/0", "not scored"),
        ("border_fill", None, "0/2", "1 failed, 1 unscored"),
    ]


def test_trials_that_the_numbers_are_not_about_or_that_are_suspended_do_not_count(
    tmp_path: Path,
) -> None:
    asked = {"mmmg_region_fill": {"repeats": 2, "samples": [[0, 0]]}}
    rows = task_rows(tmp_path, {"mmmg_region_fill": PARITY}, asked=asked)
    assert numbers(rows[0][1:4]) == [0.5, 0.98, "2/2"]
    suspended = {
        "task": "mmmg_region_fill",
        "metric": "overall",
        "value": None,
        "n": 2,
        "scored": 1,
        "suspended": True,
    }
    given: dict[str, Rows] = {"mmmg_region_fill": [[1.0, LOST]]}
    rows = task_rows(tmp_path / "other", given, results=[suspended])
    assert rows[0][1:] == (None, None, "1/2", "scoring suspended")


def test_the_leaderboard_counts_0_for_what_a_model_cannot_do_and_tasks_without_scores_are_named(
    tmp_path: Path,
) -> None:
    music = CATEGORIES[2].groups["music"]
    given: dict[str, Rows] = {task: [["unsupported"]] for task in music} | {
        music[0]: [[1.0]]
    }
    assert averages(tmp_path, given)["sound and music: music"] == (
        1.0,
        None,
        0.25,
        "1/4",
        "3 unsupported",
    )
    given = {"mmmg_region_fill": [[1.0]], "mmmg_object_count": [[NO_JUDGE]]}
    (notes,) = [
        table.notes
        for title, table in tables(tmp_path / "other", given).items()
        if "averages" in title
    ]
    assert any(note.endswith(": object_count.") for note in notes)


@pytest.mark.parametrize(
    ("other", "lacks"),
    [
        (None, "1 not asked"),
        ([[NO_JUDGE]], "1 unavailable"),
        ([[LOST]], "1 lost"),
        ([[NO_JUDGE, LOST]], "1 lost"),
    ],
    ids=["not asked", "unavailable", "lost", "partly lost"],
)
def test_an_average_needs_each_task_that_can_be_done(
    tmp_path: Path, other: Rows | None, lacks: str
) -> None:
    first, second = CATEGORIES[0].groups["format"]
    given: dict[str, Rows] = {
        first: [[1.0]],
        **({} if other is None else {second: other}),
    }
    assert averages(tmp_path, given)["image: format"] == (
        None,
        None,
        None,
        "1/2",
        lacks,
    )
