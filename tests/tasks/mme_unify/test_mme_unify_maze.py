from typing import Any

import pytest

from mmeval.metric.apply import score_one
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.records import Sample, Score, Trial
from mmeval.tasks.mme_unify.mme_unify_maze import cell_of
from mmeval.tasks.mme_unify.turns import MazeTurn, answer_of

MAZE = {"action": ["Up", "Right", "Finish"], "coordinate": [[3, 1], [2.1], [2, 2]]}


def scores(
    *turns: MazeTurn, profile: str = "standard", labels: Any = None
) -> dict[str, Score]:
    bound = bind(load_metric("mme_unify_maze"), {}, profile)
    found = score_one(
        bound, Trial(Sample("1", (), metadata=labels or MAZE), output=answer_of(turns))
    )
    return {name.removeprefix("mme_unify_"): score for name, score in found.items()}


def values(*turns: MazeTurn, profile: str = "standard") -> tuple[float | None, ...]:
    found = scores(*turns, profile=profile)
    return tuple(found[name].value for name in ("action", "location", "finish"))


def test_the_steps_are_the_moves_and_a_location_is_where_the_move_leads() -> None:
    assert values(MazeTurn(0, "up", [0, 1]), MazeTurn(1, " RIGHT", [1.0, 1])) == (
        1,
        1,
        0,
    )
    assert values(
        MazeTurn(0, "Up", [0, 1]), MazeTurn(1, "Down", [2, 2]), MazeTurn(2, "FINISH")
    ) == (0.5, 0.5, 1)
    assert values(MazeTurn(1, "Right", [1, 1]), MazeTurn(150, "Up")) == (0.5, 0.5, 0)
    assert values() == (0, 0, 0)
    assert {
        name: (score.weight, score.evidence)
        for name, score in scores(MazeTurn(0, "Up")).items()
    } == {
        "action": (2, {"wrong": [1]}),
        "location": (2, {"wrong": [0, 1]}),
        "finish": (1, {}),
    }


def test_the_released_script_compares_all_actions_and_the_datas_own_cells() -> None:
    taken = (
        MazeTurn(0, "Up", [3, 1]),
        MazeTurn(1, "right", [2, 1]),
        MazeTurn(2, "Finish", [2, 2]),
    )
    assert values(*taken, profile="official") == (2 / 3, 2 / 3, 1)
    assert values(taken[0], MazeTurn(1, "Right ", [2.1]), profile="official") == (
        1 / 3,
        2 / 3,
        0,
    )
    assert values(
        *(MazeTurn(step, "", "31") for step in range(200)), profile="official"
    ) == (0, 0, 0)
    assert scores(profile="official")["action"].weight == 3


@pytest.mark.parametrize(
    "location",
    [None, "0,1", [0], [False, True], [0, "1"]],
)
def test_a_location_of_another_form_is_wrong(location: Any) -> None:
    assert values(MazeTurn(0, "Up", location))[1] == 0


def test_a_maze_without_a_move_is_inapplicable_and_one_without_a_way_unscored() -> None:
    still = scores(
        MazeTurn(0, "Finish"), labels={"action": ["Finish"], "coordinate": [[1, 1]]}
    )
    assert [score.status for score in still.values()] == [
        "inapplicable",
        "inapplicable",
        "scored",
    ]
    broken = [
        {"action": ["Up"], "coordinate": []},
        {"action": [1], "coordinate": [[1, 1]]},
        {"action": []},
    ]
    assert {
        score.status for labels in broken for score in scores(labels=labels).values()
    } == {"unscored"}


@pytest.mark.parametrize(
    ("written", "cell"),
    [
        ([2, 3], (2, 3)),
        ([1.3], (1, 3)),
        ([5.4], (5, 4)),
        *(
            (odd, None)
            for odd in (
                [1, 2, 3],
                [1.5, 2],
                "12",
                [float("nan")],
                [True, 1],
            )
        ),
    ],
)
def test_a_cell_of_the_data(written: Any, cell: tuple[int, int] | None) -> None:
    assert cell_of(written) == cell
