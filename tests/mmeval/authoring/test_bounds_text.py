from __future__ import annotations

from dataclasses import replace

from mmeval.authoring.bounds import Bounds, Which
from mmeval.authoring.bounds_text import bounds_table
from mmeval.records.score import Result
from mmeval.task.selection import select
from mmeval.task.task import Task


def the_task() -> Task:
    (task,) = select(["rubric_example"]).tasks
    return task


def result(value: float | None, *, n: int = 4, scored: int = 4, unsupported: int = 0) -> Result:
    return Result("rubric_example", "m", value, n, scored, unsupported=unsupported)


def test_each_number_stands_in_its_column_and_what_is_lacking_beside_it() -> None:
    results: dict[Which, Result] = {
        "reference": result(1.0),
        "shuffled": result(0.25, scored=3),
        "empty": result(None, scored=0),
    }

    assert bounds_table([Bounds(the_task(), "m", False, results)]).splitlines()[2] == (
        "|rubric_example|m     |↓  |   1.0000|  0.2500|  N/A|"
        "shuffled: 1 of 4 without a score; empty: 4 of 4 without a score|"
    )


def test_a_task_without_any_reference_says_so() -> None:
    nothing = result(None, scored=0, unsupported=4)
    found = Bounds(
        the_task(), "m", True, {"reference": nothing, "shuffled": nothing, "empty": result(0.0)}, only_one=True
    )

    assert "no sample has a reference; nothing to shuffle" in bounds_table([found])


def test_answers_that_hold_nothing_for_a_metric_lack_no_score() -> None:
    results: dict[Which, Result] = {
        "reference": replace(result(1.0, scored=2), inapplicable=2),
        "shuffled": replace(result(0.5, scored=1), inapplicable=2),
        "empty": replace(result(None, scored=0), inapplicable=4),
    }

    assert (
        bounds_table([Bounds(the_task(), "m", True, results)])
        .splitlines()[2]
        .endswith("|shuffled: 1 of 2 without a score; empty: nothing to score|")
    )


def test_a_task_is_named_once_and_an_empty_column_is_left_out() -> None:
    table = bounds_table([Bounds(the_task(), name, True, {"reference": result(1.0)}) for name in ("one", "two")])

    assert table.count("rubric_example") == 1
    assert "Notes" not in table
    assert bounds_table([]) == ""
