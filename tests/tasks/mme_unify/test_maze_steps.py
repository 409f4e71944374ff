from pathlib import Path
from typing import Any

import pytest

from mmeval.tasks.mme_unify.maze_steps import LONGEST, TASK, step_numbers
from tests.support.stored_runs import Row, result, stored, trials

ACTION = "mme_unify_action"


def maze(steps: int, *wrong: int) -> dict[str, Row]:
    """The score of a maze; ``wrong`` are its wrong steps, counted from 0."""
    share = (steps - len(wrong)) / steps
    evidence = {"wrong": list(wrong)}
    score = {
        "value": share,
        "status": "scored",
        "weight": steps,
        "evidence": evidence,
    }
    return {ACTION: score}


def by_step(folder: Path, *answers: dict[str, Row] | str) -> list[Any]:
    """The numbers of the action by step."""
    own = result(TASK, ACTION, value=0.5)
    run = stored(folder, {TASK: trials(answers)}, layout="mme_unify", results=[own])
    numbers = list(step_numbers(run))
    slices = [number.key.slice for number in numbers]
    assert slices == [f"step={step}" for step in range(1, LONGEST + 1)]
    return numbers


def test_a_step_is_the_share_of_mazes_that_have_it_right(tmp_path: Path) -> None:
    numbers = by_step(tmp_path, maze(2, 1), maze(2))
    assert [number.value for number in numbers[:2]] == [1.0, 0.5]


def test_steps_behind_the_end_of_a_maze_are_not_in_the_mean(tmp_path: Path) -> None:
    first, _, third, *_ = by_step(tmp_path, maze(1, 0), maze(3, 0))
    assert (first.value, first.n) == (0.0, 2)
    assert (third.value, third.n) == (1.0, 1)


def test_a_step_that_no_maze_has_cannot_be_known(tmp_path: Path) -> None:
    states = [number.state for number in by_step(tmp_path, maze(2))]
    assert states == ["", "", *["cannot"] * (LONGEST - 2)]


def test_a_maze_without_a_score_is_left_out(tmp_path: Path) -> None:
    first, *_ = by_step(tmp_path, maze(1, 0), "failed")
    assert (first.value, first.n) == (0.0, 1)


def test_a_share_of_steps_has_an_interval(tmp_path: Path) -> None:
    first, *_ = by_step(tmp_path, maze(1), maze(1, 0), maze(1), maze(1, 0))
    low, high = first.interval
    assert low < 0.5 < high


@pytest.mark.parametrize("value", [None, 0.5], ids=["lost", "another task"])
def test_a_run_without_the_number_has_no_steps(
    tmp_path: Path, value: float | None
) -> None:
    name = TASK if value is None else "mme_unify_iee"
    rows = trials([maze(2)])
    own = result(name, ACTION, value=value)
    run = stored(tmp_path, {name: rows}, layout="mme_unify", results=[own])
    assert list(step_numbers(run)) == []
