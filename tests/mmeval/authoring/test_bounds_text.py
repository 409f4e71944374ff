from dataclasses import replace

from mmeval.authoring.bounds import Bounds, Which
from mmeval.authoring.bounds_text import bounds_means, bounds_table
from mmeval.records.score import Result
from tests.support.toy import task


def result(
    value: float | None, scored: int = 4, *, unsupported: int = 0, inapplicable: int = 0
) -> Result:
    return Result(
        "t", "m", value, 4, scored, unsupported=unsupported, inapplicable=inapplicable
    )


def bounds(reference: Result, shuffled: Result, empty: Result) -> Bounds:
    results: dict[Which, Result] = {
        "reference": reference,
        "shuffled": shuffled,
        "empty": empty,
    }
    return Bounds(task("t"), "m", True, results, range=(0, 1))


def row(found: Bounds) -> tuple[list[str], list[str]]:
    """The cells of the one row, and the beginnings of its notes."""
    *cells, notes = (
        cell.strip()
        for cell in bounds_table([found]).splitlines()[2].strip("|").split("|")
    )
    return cells, [
        note.partition(" without")[0].partition(": fewer")[0]
        for note in notes.split("; ")
    ]


def test_each_number_stands_in_its_column_and_what_lacks_beside_it_and_a_task_is_named_once() -> (
    None
):
    low = replace(
        bounds(result(1.0), result(0.25, 3), result(None, 0)), higher_is_better=False
    )
    assert row(low) == (
        ["t", "m", "↓", "1.0000", "0.2500", "N/A"],
        ["shuffled: 1 of 4", "empty: 4 of 4"],
    )
    some, none = result(0.5, 1, inapplicable=2), result(None, 0, inapplicable=4)
    notes = row(bounds(result(1.0, 2, inapplicable=2), some, none))[1]
    assert notes == ["shuffled: 1 of 2", "empty: nothing to score"]
    nothing = result(None, 0, unsupported=4)
    found = replace(bounds(nothing, nothing, result(0.0)), only_one=True)
    assert len(row(found)[1]) == 2
    whole = bounds(result(1.0), result(0.5), result(0.0))
    table = bounds_table([whole, replace(whole, metric="two")])
    assert (table.count("t "), "Notes" in table, bounds_table([])) == (1, False, "")


def test_means_are_shown_of_several_numbers_between_zero_and_one() -> None:
    one = bounds(result(1.0), result(0.5), result(0.0))
    other = bounds(result(0.5), result(0.25), result(None))
    assert bounds_means([one, other]).split() == [
        "reference",
        "0.75",
        "shuffled",
        "references",
        "0.38",
    ]
    others = [[], [replace(other, unavailable="x")], [replace(other, range=(0, 5))]]
    assert [
        bounds_means([one, *more])
        for more in (*others, [replace(one, higher_is_better=False)])
    ] == [""] * 4
