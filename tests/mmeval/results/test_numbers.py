import re
from typing import Any

import pytest

from mmeval.results.numbers import NumberRow, number_rows
from tests.support.stored_runs import document, result


def rows(*documents: dict[str, Any], **options: Any) -> list[NumberRow]:
    return number_rows(documents, ["x", "y"][: len(documents)], **options)


def test_tasks_stand_below_groups_slices_below_both_and_a_number_that_a_run_lacks_is_none() -> (
    None
):
    given = result("a", slice="level=easy"), result("a"), result("b"), result("g")
    found = rows(document(*given, groups={"g": ["a"]}))
    assert [(row.label, row.depth, row.version, row.is_group) for row in found] == [
        ("G", 0, "1.0", True),
        ("A", 1, "1.0", False),
        ("level=easy", 2, "", False),
        ("B", 0, "1.0", False),
    ]
    two = rows(
        document(result("a"), result("a", "k")), document(result("a"), result("b"))
    )
    assert [
        (row.task, row.metric, [r is not None for r in row.results], row.absent)
        for row in two
    ] == [
        ("a", "m", [True, True], ("", "")),
        ("a", "k", [True, False], ("", "no number")),
        ("b", "m", [False, True], ("not asked", "")),
    ]
    (row,) = rows({}, document(result("a")))
    assert (row.absent, row.unlike) == (("no number", ""), ("",))


@pytest.mark.parametrize(
    ("given", "ours", "numbers"),
    [
        ({}, {"subset": {"a": {"of": 31026, "chosen": 3000}}}, ["3,000", "31,026"]),
        ({}, {"subset": {"a": {"of": None, "chosen": 3000}}}, ["3,000"]),
        ({}, {"subset": {"a": {"of": 7, "chosen": 7}}}, []),
        ({}, {"unfinished": {"a": {"made": 3, "of": 4}}}, ["3", "4"]),
        (
            {"scored": 3, "unscored": 1, "bounds": [0.25, 0.5]},
            {},
            ["1", "0.2500", "0.5000"],
        ),
    ],
    ids=[
        "subset",
        "of an unknown number",
        "all of them",
        "unfinished",
        "missing",
    ],
)
def test_a_row_has_the_notes_of_its_run(
    given: dict[str, Any], ours: dict[str, Any], numbers: list[str]
) -> None:
    (row,) = rows(document(result("a", **given), **ours))
    assert re.findall(r"[\d,.]+\d|\d", row.notes) == numbers


def test_a_number_with_what_the_reference_says_is_marked_in_its_task_and_its_group() -> (
    None
):
    given = result("a"), result("b"), result("g")
    found = rows(document(*given, groups={"g": ["a"]}, uses_reference=["a"]))
    assert {row.task: row.notes for row in found} == {
        "a": "uses reference information",
        "b": "",
        "g": "uses reference information",
    }


def test_a_group_has_the_notes_of_its_tasks_and_a_slice_not_those_of_the_whole() -> (
    None
):
    ours = {
        "subset": {"a": {"of": 100, "chosen": 4}},
        "unfinished": {"a": {"made": 3, "of": 4}},
    }
    given = (result("a"), result("a", slice="k=v"), result("g"))
    group, task, part = rows(
        document(*given, groups={"g": ["a"]}, not_comparable=["a"], **ours)
    )
    assert [row.notes.count(";") for row in (group, task, part)] == [2, 2, 0]
    assert [re.findall(r"\d+", row.notes) for row in (group, task, part)] == [
        [],
        ["3", "4", "4", "100"],
        [],
    ]
