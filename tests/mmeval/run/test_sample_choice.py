from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mmeval.run.options import BackendSpec, RunOptions
from mmeval.run.sample_choice import SampleChoice
from mmeval.task.task import ExpectedSize, Task
from tests.support.toy import Rows, sample, task


def choice(of: Task, **options: Any) -> SampleChoice:
    return SampleChoice(
        of, RunOptions(BackendSpec("reference"), Path("unused"), **options)
    )


def leveled(count: int = 30, **more: Any) -> Task:
    """Every third sample is easy; the others are hard."""
    return task(
        rows=[sample(f"s{i}", level="hard" if i % 3 else "easy") for i in range(count)],
        **more,
    )


def taken(made: SampleChoice) -> list[int]:
    return [index for index, _ in made]


@pytest.mark.parametrize(
    "draw", [{"sample_shuffle": 7}, {"stratify": ("level",)}], ids=str
)
def test_drawn_samples_come_in_the_order_of_the_data_set_and_a_larger_limit_keeps_them(
    draw: dict[str, Any],
) -> None:
    made = choice(leveled(), limit=9, **draw)
    found = taken(made)
    assert (found, len(found), made.size, found == list(range(9))) == (
        sorted(found),
        9,
        9,
        False,
    )
    drawn = [
        set(taken(choice(leveled(), limit=limit, **draw)))
        for limit in (3, 10, 0.5, 29, 99)
    ]
    assert [len(one) for one in drawn] == [3, 10, 15, 29, 30]
    assert all(small < large for small, large in pairwise(drawn))
    first, second = (
        set(taken(choice(leveled(), limit=5, offset=offset, **draw)))
        for offset in (0, 5)
    )
    assert (first & second, first | second) == (set(), drawn[1]), (
        "an offset leaves out what was drawn first"
    )


def test_samples_are_drawn_among_those_that_the_filter_keeps_and_a_share_is_one_of_them() -> (
    None
):
    of = task(
        rows=[sample(f"s{i}", level=i % 3) for i in range(30)], filter={"level": 1}
    )
    made = choice(of, limit=0.5, sample_shuffle=1)
    assert ({index % 3 for index in taken(made)}, made.size) == ({1}, 5)
    assert taken(choice(of, limit=0.2)) == [1, 4]


def test_a_look_at_the_first_samples_counts_those_of_a_filter_where_it_sees_all() -> (
    None
):
    of = task(
        rows=[sample(f"s{i}", level=i % 3) for i in range(30)], filter={"level": 1}
    )
    for count, expected in ((20, (True, 10)), (5, (False, 30))):
        made = choice(of)
        made.first(count)
        assert (made.counted, made.size) == expected


@pytest.mark.parametrize(
    ("expected", "options", "size"),
    [
        (ExpectedSize(rows=30, samples=10), {}, 10),
        (ExpectedSize(rows=90, samples=25), {}, 25),
        (ExpectedSize(rows=30, samples=10), {"limit": 4}, 4),
        (ExpectedSize(rows=30, samples=10), {"samples": {"toy": range(15)}}, 10),
        (ExpectedSize(rows=20, samples=10), {}, 30),
        (ExpectedSize(samples=10), {}, 30),
    ],
    ids=[
        "whole data",
        "fewer data",
        "a limit",
        "named samples",
        "other data",
        "unknown data",
    ],
)
def test_before_a_filter_is_run_the_task_file_says_how_many_samples_there_are_at_most(
    expected: ExpectedSize, options: dict[str, Any], size: int
) -> None:
    of = leveled(30, filter={"level": "easy"}, expected=expected)
    made = choice(of, **options)
    assert (made.size, made.counted) == (size, False)


class Counted(Rows):
    """A data set that knows the levels of its samples, but for two."""

    def label_counts(self) -> Iterator[tuple[dict[str, str], int]]:
        yield {"level": "easy"}, 7
        yield {"level": "hard"}, 21
        yield {}, 2


class Torn(Rows):
    """A data set whose rows cannot be counted by their labels."""

    def label_counts(self) -> Iterator[tuple[dict[str, str], int]]:
        raise RuntimeError("row 3 is torn")


def test_rows_that_a_loader_cannot_count_are_all_that_a_filter_may_keep() -> None:
    rows = Torn([sample(f"s{i}", level=i % 3) for i in range(30)])
    of = replace(task(filter={"level": 1}), dataset=lambda: rows)
    assert choice(of).size == 30


@pytest.mark.parametrize(
    ("filter", "size"),
    [
        ({"level": "easy"}, 9),
        ({"level": ["easy", "hard"]}, 30),
        ({"level": "easy", "field": "art"}, 9),
        ({}, 30),
    ],
    ids=str,
)
def test_before_a_filter_is_run_a_loader_says_how_many_samples_it_may_keep(
    filter: dict[str, Any], size: int
) -> None:
    rows = Counted([sample(f"s{i}") for i in range(30)])
    of = replace(task(filter=filter), dataset=lambda: rows)
    assert choice(of).size == size


EASY = {"filter": {"level": ["easy", "light"]}}


@pytest.mark.parametrize(
    ("options", "more", "expected"),
    [
        ({}, {}, None),
        ({"limit": 4}, {}, (9, 4, ["limit"])),
        (
            {"limit": 3, "stratify": ("level",), "sample_shuffle": 2},
            {},
            (9, 3, ["limit", "shuffle", "stratify"]),
        ),
        ({"samples": {"toy": (1, 2)}, "limit": 1}, {}, (9, 2, ["samples"])),
        ({"limit": 2}, EASY, (None, 2, ["limit"])),
        ({"limit": 2, "sample_shuffle": 1}, EASY, (3, 2, ["limit", "shuffle"])),
        ({}, {"expected": ExpectedSize(rows=9, samples=9)}, None),
        ({}, {"expected": ExpectedSize(rows=8)}, None),
        ({"limit": 4}, {"expected": ExpectedSize(rows=20)}, (20, 4, ["limit", "data"])),
        ({}, {"expected": ExpectedSize(rows=20, samples=7), **EASY}, (7, 3, ["data"])),
        ({}, {"expected": ExpectedSize(rows=20), **EASY}, (None, 3, ["data"])),
        ({}, {"expected": ExpectedSize(rows=9, samples=3), **EASY}, None),
    ],
    ids=str,
)
def test_a_subset_is_described(
    options: dict[str, Any], more: dict[str, Any], expected: Any
) -> None:
    made = choice(leveled(9, **more), **options)
    taken(made)
    assert (made.subset and tuple(made.subset.to_json().values())) == expected
