from typing import Any

import pytest

from mmeval.report.headline import headline_rows
from mmeval.report.listed_rows import MOST_ROWS, ListedRows, listed_rows
from mmeval.results.numbers import number_rows
from tests.support.stored_runs import document, result


def listed(
    tasks: list[str], groups: dict[str, list[str]], *, verdicts: int = 0
) -> ListedRows:
    """The rows of groups and tasks, each task with some judged numbers."""
    names = [f"verdict{number}" for number in range(verdicts)]
    rows = [result(name, "free") for name in (*groups, *tasks)]
    for task in tasks:
        for index, name in enumerate(names):
            rows.append(result(task, name, value=index / 8))
    of_task: dict[str, Any] = {
        name: {"outputs": [name], "judged": True} for name in names
    }
    given = document(*rows, groups=groups, metrics=dict.fromkeys(tasks, of_task))
    numbers = number_rows([given], [""])
    return listed_rows(headline_rows(numbers), numbers, given)


def row_count(chosen: ListedRows) -> int:
    return sum(task.row_count for task in chosen.tasks)


def members(group: str, count: int) -> list[str]:
    return [f"{group}{index}" for index in range(count)]


@pytest.mark.parametrize(("verdicts", "more"), [(4, 0), (5, 1), (7, 3)])
def test_a_task_shows_four_further_numbers_and_counts_the_others(
    verdicts: int, more: int
) -> None:
    (task,) = listed(["a"], {}, verdicts=verdicts).tasks
    assert (len(task.further), task.more) == (4, more)


def test_a_table_that_fits_has_all_rows() -> None:
    chosen = listed(members("g", MOST_ROWS - 1), {"g": members("g", MOST_ROWS - 1)})
    assert row_count(chosen) == MOST_ROWS
    assert (chosen.hidden_tasks, chosen.hidden_numbers) == ({}, 0)


def test_members_lose_further_numbers_before_they_lose_their_rows() -> None:
    chosen = listed(members("g", 4), {"g": members("g", 4)}, verdicts=5)
    assert [len(task.further) for task in chosen.tasks] == [0, 1, 1, 1, 1]
    assert (chosen.hidden_tasks, chosen.hidden_numbers) == ({}, 16)


def test_the_group_with_the_most_members_loses_their_rows_first() -> None:
    groups = {"g": members("g", 12), "h": members("h", 3)}
    chosen = listed([*groups["g"], *groups["h"]], groups)
    assert [task.headline.task for task in chosen.tasks] == ["g", "h", "h0", "h1", "h2"]
    assert chosen.hidden_tasks == {"G": 12}


def test_nested_groups_are_shown_longer_than_their_tasks() -> None:
    inner = {name: members(name, 15) for name in ("x", "y")}
    groups = {"g": ["x", "y"], **inner}
    chosen = listed([*inner["x"], *inner["y"]], groups)
    assert [task.headline.task for task in chosen.tasks] == ["g", "x", "y"]
    assert chosen.hidden_tasks == {"X": 15, "Y": 15}


def test_tasks_of_hidden_groups_count_for_the_group_around_them() -> None:
    names = [f"x{index:02}" for index in range(16)]
    inner = {name: members(f"{name}-", 2) for name in names}
    tasks = [task for group in inner.values() for task in group]
    chosen = listed(tasks, {"g": names, **inner})
    assert [task.headline.task for task in chosen.tasks] == ["g"]
    assert chosen.hidden_tasks == {"G": 32}


def test_tasks_outside_of_groups_always_have_a_row() -> None:
    assert row_count(listed(members("t", 40), {})) == 40
