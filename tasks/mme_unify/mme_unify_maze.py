"""MME-Unify: are the actions and locations of a way through a maze right?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.metric import metric
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.mme_unify_choice import are_texts
from mmeval.tasks.mme_unify.turns import Turn, turns_of

ACTION, COORDINATE = "action", "coordinate"
"""The labels of a maze as the data have them: its actions, of which the last is Finish,
and the [row, column], counted from 1, before each."""
OUTPUTS = ("mme_unify_action", "mme_unify_location", "mme_unify_finish")
_MISTYPED = re.compile(r"([0-9]+)\.([0-9]+)")


def cell_of(written: Any) -> tuple[int, int] | None:
    """A cell of the data as (row, column); of the mistyped ``[1.3]`` too. None for
    anything else."""
    match written:
        case [row, column] if type(row) is type(column) is int:
            return row, column
        case [float(mistyped)]:
            found = _MISTYPED.fullmatch(repr(mistyped))
            return (int(found[1]), int(found[2])) if found else None
    return None


def maze_fault(labels: Mapping[str, Any]) -> str:
    """Why no way through a maze could be scored, or an empty text."""
    actions, cells = labels.get(ACTION), labels.get(COORDINATE)
    if not are_texts(actions) or not actions:
        return f"{ACTION!r} is no list of words"
    if not isinstance(cells, list) or len(cells) != len(actions):
        return f"{COORDINATE!r} is no list of a cell for each action"
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
    """The shares of the steps of a maze with the right action, and with the right
    location; and whether it finishes.

    ``vcot: paper``: the steps are the moves. An action is compared whatever its case, a
    location [x, y], counted from 0, with the cell after the move. ``official``, as the
    released script: the steps are all actions, Finish among them. An action must be
    equal in case, too, and a location to the data's own [row, column] before it.

    A turn that was not taken is wrong. The weight of a share is the number of its
    steps. A maze without a move has no share of ``paper``.
    """
    if fault := maze_fault(trial.sample.metadata):
        return dict.fromkeys(OUTPUTS, Score.unscored(fault))
    if trial.output is None:
        return dict.fromkeys(OUTPUTS, Score.unscored("there is no answer to score"))
    turns, actions = turns_of(trial.output), trial.sample.metadata[ACTION]
    cells = trial.sample.metadata[COORDINATE]
    taken = [turns.get(step, Turn(step)) for step in range(len(actions))]
    right = []
    there = []
    if vcot == "official":
        for turn, action, cell in zip(taken, actions, cells, strict=True):
            right.append(turn.action == action)
            # Lists are equal in length and element by element, as in the released
            # script: mistyped cells stay as they are.
            there.append(turn.location == cell)
        moves = right
    else:
        for turn, action in zip(taken, actions, strict=True):
            is_right = turn.action.strip().casefold() == action.strip().casefold()
            right.append(is_right)
        for turn, cell in zip(taken, cells[1:], strict=False):
            row, column = cell_of(cell) or (0, 0)
            is_there = turn.location == [column - 1, row - 1]
            # true and false are equal to 1 and 0
            there.append(is_there and bool not in map(type, turn.location))
        moves = right[:-1]
    action_output, location_output, finish_output = OUTPUTS
    return {
        action_output: _share(moves),
        location_output: _share(there),
        finish_output: Score(float(right[-1])),
    }


def _share(right: Sequence[bool]) -> Score:
    if not right:
        return Score.inapplicable("the maze has no move")
    wrong = [step for step, is_right in enumerate(right) if not is_right]
    share = sum(right) / len(right)
    return Score(share, evidence={"wrong": wrong}, weight=len(right))
