"""The averages that the paper prints, recomputed from its own cells; and the means over
the steps of mazes."""

import json
from pathlib import Path

import pytest

from mmeval.aggregate.scores import Scores
from mmeval.errors import UnknownNameError
from mmeval.records import Score
from mmeval.tasks.mme_unify.averages import TASKS, UNIFY, roll_up, steps

PRINTED = {
    name: {
        model: dict(zip(table["columns"], cells, strict=True))
        for model, cells in table["rows"].items()
    }
    for name, table in json.loads(
        Path(__file__).with_name("published.json").read_text()
    ).items()
}
MISPRINTED = {("Unify_Avg", "Gemini2.0-flash-exp"), ("MME_U", "Gemini2.0-flash-exp")}
"""Its Unify would be 39.74, and its MME-U 45.26."""
SLIP = 0.015
"""Cells are printed with two digits."""


def test_all_averages_but_two_follow_from_the_printed_scores_of_the_tasks() -> None:
    found: dict[tuple[str, str], float] = {}
    for model, cells in PRINTED["table2"].items():
        # Table 2 swaps or misprints some scores of generation, which table 4 has right.
        generation = PRINTED["table4"].get(_IN_TABLE_4.get(model, model), {})
        scores = {name: generation.get(f"{name}_avg", cells[name]) for name in TASKS}
        averages = roll_up(scores)
        parts = {"Und_Avg": averages["understanding"], "Unify_Avg": averages["unify"]}
        printed = {
            "understanding": cells["Und_Avg"],
            "generation": cells["Gen_Avg"],
            "unify": cells["Unify_Avg"],
        }
        parts["MME_U"] = sum(value or 0 for value in printed.values()) / 3
        found |= {
            (column, model): parts[column]
            for column in parts
            if cells[column] is not None
        }
    for model, cells in PRINTED["table4"].items():
        found["Gen_Avg", model] = roll_up(
            {name: cells.get(f"{name}_avg") for name in TASKS}
        )["generation"]
    tables = {"Gen_Avg": "table4"}
    apart = {
        (column, model)
        for (column, model), value in found.items()
        if abs(value - (PRINTED[tables.get(column, "table2")][model][column] or 0))
        > SLIP
    }
    assert (len(found), apart) == (62, MISPRINTED)


_IN_TABLE_4 = {
    "Gemini2.0-flash-exp": "Gemini-2.0-flash-exp",
    "Janus-Flow": "DeepSeek-Flow",
    "Janus-Pro": "DeepSeek-Janus-Pro",
}


def test_the_cells_of_mazes_are_shares_of_720_steps() -> None:
    cells = [
        row[f"VCoT_{one}"]
        for row in PRINTED["table3"].values()
        for one in ("action", "coordinate", "image")
    ]
    assert len(cells) == 18
    assert all(abs(cell - 100 * round(cell * 7.2) / 720) < 0.0051 for cell in cells)
    assert not any(
        abs(cell - 100 * round(cell * 4.05) / 405) < 0.0051 for cell in cells if cell
    )


def test_what_a_model_cannot_do_counts_zero() -> None:
    assert roll_up({}) == {"understanding": 0, "generation": 0, "unify": 0, "mme_u": 0}
    assert roll_up(dict.fromkeys(UNIFY, 50.0)) == {
        "understanding": 0,
        "generation": 0,
        "unify": 50,
        "mme_u": 50 / 3,
    }
    assert roll_up({"SIPU": 60, "VPU": None})["understanding"] == 20
    with pytest.raises(UnknownNameError):
        roll_up({"VPP": 1})


def mazes(*right: tuple[float, int]) -> Scores:
    scores = Scores(range=(0, 1))
    for number, (share, count) in enumerate(right):
        scores.add(str(number), 0, Score(share, weight=count))
    return scores


def test_the_steps_of_all_mazes_count_the_same_and_officially_as_if_all_were_as_long_as_the_longest() -> (
    None
):
    found = mazes((1 / 3, 3), (3 / 4, 4), (1, 3))
    assert steps(found).value == pytest.approx(7 / 10)
    official = steps(found, profile="official")
    assert official.value == pytest.approx(7 / 12)
    # The error of the mean of 1/4, 3/4 and 3/4.
    assert official.stderr == pytest.approx(1 / 6)
    assert [
        steps(mazes(), profile=profile).value for profile in ("standard", "official")
    ] == [None, None]


def test_a_maze_that_is_lost_stands_in_no_mean_and_in_the_bounds() -> None:
    found = mazes((1, 2))
    found.add("lost", 0, "failed")
    assert [
        steps(found, profile="official").value,
        steps(found.filled(0), profile="official").value,
    ] == [1, 0.5]
