"""MME-Unify: are the actions and locations of a way through a maze right?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from mmeval.metric import metric
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.turns import Turn, turns_of

ACTION, COORDINATE = "action", "coordinate"
"""The labels of a maze as the data have them: its actions, of which the last is Finish,
and the [row, column], counted from 1, before each."""
OUTPUTS = ("mme_unify_action", "mme_unify_location", "mme_unify_finish")
_MISTYPED = re.compile(r"([0-9]+)\.([0-9]+)")


def cell_of(written: Any) -> tuple[int, int] | None:
    """A cell of the data as (row, column); of the mistyped ``[1.3]`` too. None for
    anything else."""
    if (
        isinstance(written, list)
        and len(written) == 2
        and all(type(number) is int for number in written)
    ):
        return written[0], written[1]
    if (
        isinstance(written, list)
        and len(written) == 1
        and isinstance(written[0], float)
    ):
        found = _MISTYPED.fullmatch(repr(written[0]))
        return (int(found[1]), int(found[2])) if found else None
    return None


def maze_fault(labels: Mapping[str, Any]) -> str:
    """Why no way through a maze could be scored, or an empty text."""
    actions, cells = labels.get(ACTION), labels.get(COORDINATE)
    if (
        not isinstance(actions, list)
        or not actions
        or not all(isinstance(action, str) for action in actions)
    ):
        return f"{ACTION!r} is no list of words"
    if not isinstance(cells, list) or len(cells) != len(actions):
        return f"{COORDINATE!r} is no list of a cell for each action"
    odd = next((cell for cell in cells if cell_of(cell) is None), None)
    return (
        ""
        if odd is None
        else f"{COORDINATE!r} has the cell {odd!r:.80}; write [row, column]"
    )


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
    if vcot == "official":
        right = [
            turn.action == action for turn, action in zip(taken, actions, strict=True)
        ]
        there = [
            _is_official(turn.location, cell)
            for turn, cell in zip(taken, cells, strict=True)
        ]
        return _scores(right, there, finished=right[-1])
    right = [
        _plain(turn.action) == _plain(action)
        for turn, action in zip(taken, actions, strict=True)
    ]
    there = [
        _is_at(turn.location, cell)
        for turn, cell in zip(taken, cells[1:], strict=False)
    ]
    return _scores(right[:-1], there, finished=right[-1])


def _scores(
    right: Sequence[bool], there: Sequence[bool], *, finished: bool
) -> dict[str, Score]:
    return dict(
        zip(
            OUTPUTS, (_share(right), _share(there), Score(float(finished))), strict=True
        )
    )


def _share(right: Sequence[bool]) -> Score:
    if not right:
        return Score.inapplicable("the maze has no move")
    wrong = [step for step, is_right in enumerate(right) if not is_right]
    return Score(sum(right) / len(right), evidence={"wrong": wrong}, weight=len(right))


def _plain(action: str) -> str:
    return action.strip().casefold()


def _is_at(location: Any, cell: Any) -> bool:
    """Whether [x, y], counted from 0, is a cell of the data."""
    row, column = cell_of(cell) or (0, 0)
    return _is_number_pair(location) and location == [column - 1, row - 1]


def _is_number_pair(location: Any) -> bool:
    return isinstance(location, list) and all(
        type(number) in (int, float) for number in location
    )


def _is_official(location: Any, cell: Any) -> bool:
    """Equality in length and element by element, as the released script has it:
    mistyped cells stay as they are."""
    return isinstance(location, list) and location == cell
