"""MME-Unify: whether actions and locations of a path through a maze are right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.metric import metric
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.mme_unify_choice import are_texts
from mmeval.tasks.mme_unify.turns import MazeTurn, turns_of

ACTION, COORDINATE = "action", "coordinate"
"""The labels of a maze as in the data: the actions, ending with Finish, and the [row,
column] before each action, counted from 1."""
OUTPUTS = ("mme_unify_action", "mme_unify_location", "mme_unify_finish")
_MISTYPED = re.compile(r"([0-9]+)\.([0-9]+)")


def cell_of(value: Any) -> tuple[int, int] | None:
    """Reads a cell of the data as (row, column).

    The mistyped ``[1.3]`` is also read. Returns None for any other value.
    """
    match value:
        case [row, column] if type(row) is type(column) is int:
            return row, column
        case [float(mistyped)]:
            parts = _MISTYPED.fullmatch(repr(mistyped))
            return (int(parts[1]), int(parts[2])) if parts else None
    return None


def maze_fault(labels: Mapping[str, Any]) -> str:
    """Returns why a maze cannot be scored, or an empty string if it can."""
    actions, cells = labels.get(ACTION), labels.get(COORDINATE)
    if not are_texts(actions) or not actions:
        return f"{ACTION!r} is not a list of words"
    if not isinstance(cells, list) or len(cells) != len(actions):
        return f"{COORDINATE!r} is not a list with a cell for each action"
    for cell in cells:
        if cell_of(cell) is None:
            return f"{COORDINATE!r} has the cell {cell!r:.80}; write [row, column]"
    return ""


def _fault(sample: Sample, _switches: object) -> str:
    return maze_fault(sample.metadata)


@metric(
    range=(0, 1),
    version="1",
    source="MME-Unify, section 3.3 and the released script",
    outputs=OUTPUTS,
    profiles={"official": {"vcot": "official"}},
    check=_fault,
)
def mme_unify_maze(
    trial: Trial, *, vcot: Literal["paper", "official"] = "paper"
) -> dict[str, Score]:
    """The shares of a maze's steps with the right action and location, and the finish.

    ``mme_unify_action``, ``mme_unify_location`` and ``mme_unify_finish`` have the range
    0 to 1, higher is better. A missing turn is wrong.

    With ``vcot: paper`` the steps are the moves. The case of an action does not matter.
    A location [x, y], counted from 0, is compared with the cell after the move. ``vcot:
    official`` works as the released script does. The steps are all actions, including
    Finish. The case of an action matters. A location is compared with the data's [row,
    column] before the action.

    The weight of a share is the number of its steps. A maze without a move is
    inapplicable with ``paper``. Unscored without valid labels. Evidence: the ``wrong``
    steps.

    Not measured: the pictures of the steps (see ``mme_unify_maze_image``).

    Labels, for example: ``{"action": ["Right", "Finish"], "coordinate": [[1, 1], [1,
    2]]}``.
    """
    if fault := maze_fault(trial.sample.metadata):
        return dict.fromkeys(OUTPUTS, Score.unscored(fault))
    if trial.output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    turns, actions = turns_of(trial.output), trial.sample.metadata[ACTION]
    cells = trial.sample.metadata[COORDINATE]
    steps = [turns.get(step, MazeTurn(step)) for step in range(len(actions))]
    right_actions = []
    right_locations = []
    if vcot == "official":
        for turn, action, cell in zip(steps, actions, cells, strict=True):
            right_actions.append(turn.action == action)
            # Compared as lists, as in the released script. Mistyped cells are not
            # corrected.
            right_locations.append(turn.location == cell)
        moves = right_actions
    else:
        for turn, action in zip(steps, actions, strict=True):
            is_right = turn.action.strip().casefold() == action.strip().casefold()
            right_actions.append(is_right)
        for turn, cell in zip(steps, cells[1:], strict=False):
            row, column = cell_of(cell) or (0, 0)
            is_right_location = turn.location == [column - 1, row - 1]
            # In Python true and false equal 1 and 0, but they are not coordinates.
            right_locations.append(
                is_right_location and bool not in map(type, turn.location)
            )
        moves = right_actions[:-1]
    action_output, location_output, finish_output = OUTPUTS
    return {
        action_output: _share(moves),
        location_output: _share(right_locations),
        finish_output: Score(float(right_actions[-1])),
    }


def _share(are_right: Sequence[bool]) -> Score:
    if not are_right:
        return Score.inapplicable("the maze has no move")
    wrong = [step for step, is_right in enumerate(are_right) if not is_right]
    share = sum(are_right) / len(are_right)
    return Score(share, evidence={"wrong": wrong}, weight=len(are_right))
