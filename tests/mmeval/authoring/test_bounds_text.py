from dataclasses import replace
from typing import Any

from mmeval.authoring.bounds import Bounds, Which
from mmeval.authoring.bounds_text import bounds_means, bounds_table
from mmeval.records.score import Result
from tests.support.toy import task


def result(value: float | None, *, scored: int = 4, unsupported: int = 0, inapplicable: int = 0) -> Result:
    return Result("t", "m", value, 4, scored, unsupported=unsupported, inapplicable=inapplicable)


def bounds(reference: Result, shuffled: Result, empty: Result, **more: Any) -> Bounds:
    results: dict[Which, Result] = {"reference": reference, "shuffled": shuffled, "empty": empty}
    return replace(Bounds(task("t"), "m", True, results, range=(0, 1)), **more)


def row(found: Bounds) -> list[str]:
    """The cells of the one row; the last ones are notes."""
    return [cell.strip() for cell in bounds_table([found]).splitlines()[2].strip("|").split("|")]


def test_each_number_stands_in_its_column_and_what_lacks_beside_it() -> None:
    found = bounds(result(1.0), result(0.25, scored=3), result(None, scored=0), higher_is_better=False)
    *cells, notes = row(found)
    assert cells == ["t", "m", "↓", "1.0000", "0.2500", "N/A"]
    assert [note.partition(" without")[0] for note in notes.split("; ")] == ["shuffled: 1 of 4", "empty: 4 of 4"]


def test_answers_that_hold_nothing_for_a_metric_lack_no_score() -> None:
    shuffled = result(0.5, scored=1, inapplicable=2)
    notes = row(bounds(result(1.0, scored=2, inapplicable=2), shuffled, result(None, scored=0, inapplicable=4)))[-1]
    assert [note.partition(" without")[0] for note in notes.split("; ")] == [
        "shuffled: 1 of 2",
        "empty: nothing to score",
    ]


def test_a_task_without_any_reference_has_nothing_to_shuffle() -> None:
    nothing = result(None, scored=0, unsupported=4)
    first, second = row(bounds(nothing, nothing, result(0.0), only_one=True))[-1].split("; ")
    assert (first, second.partition(":")[0]) == ("no sample has a reference", "nothing to shuffle")


def test_a_task_is_named_once_and_an_empty_column_is_left_out() -> None:
    whole = bounds(result(1.0), result(0.5), result(0.0))
    table = bounds_table([whole, replace(whole, metric="two")])
    assert (table.count("t "), "Notes" in table, bounds_table([])) == (1, False, "")


def test_means_are_shown_of_several_numbers_between_zero_and_one() -> None:
    one, other = bounds(result(1.0), result(0.5), result(0.0)), bounds(result(0.5), result(0.25), result(None))
    means = bounds_means([one, other])
    assert means.split() == ["reference", "0.75", "shuffled", "references", "0.38"]
    assert bounds_means([one]) == bounds_means([one, replace(other, unavailable="x")]) == ""
    assert (
        bounds_means([one, replace(other, range=(0, 5))])
        == bounds_means([one, replace(one, higher_is_better=False)])
        == ""
    )
