import pytest

from mmeval.report.numbers import number_rows
from mmeval.report.table_formats import TABLES
from tests.support.number_documents import document, result, table


def test_tasks_stand_below_their_groups_and_slices_below_both() -> None:
    found = document(result("a", slice="level=easy"), result("a"), result("b"), result("g"), groups={"g": ["a"]})
    assert [(row.label, row.depth) for row in number_rows([found], ["x"])] == [
        ("G", 0),
        ("A", 1),
        ("level=easy", 2),
        ("B", 0),
    ]


def test_of_several_breakdowns_the_first_is_shown_unless_all_are_wanted() -> None:
    found = document(result("a"), result("a", slice="level=easy"), result("a", slice="kind=x"))
    assert [row.slice for row in number_rows([found], ["x"])] == ["", "level=easy"]
    assert [row.slice for row in number_rows([found], ["x"], every_slice=True)] == ["", "level=easy", "kind=x"]


def test_a_run_that_lacks_a_number_has_none_in_its_place() -> None:
    rows = number_rows([document(result("a")), document(result("b"))], ["x", "y"])
    assert [(row.task, [r is not None for r in row.results]) for row in rows] == [
        ("a", [True, False]),
        ("b", [False, True]),
    ]


def test_a_number_that_does_not_compare_says_why() -> None:
    one = document(result("a"), protocols={"a": "single"})
    two = document(result("a"), protocols={"a": "episode"}, not_comparable=[])
    (row,) = number_rows([one, two], ["x", "y"])
    assert row.unlike == ("a was asked by the protocol single, now by episode",)
    assert row.notes == "y does not compare with x: a was asked by the protocol single, now by episode"


def test_what_holds_for_all_runs_is_said_once() -> None:
    one, two = document(result("a"), not_comparable=["a"]), document(result("a", failed=1), not_comparable=["a"])
    assert [row.notes for row in number_rows([one, two], ["x", "y"])] == ["not comparable; y: 1 failed"]


def test_a_run_without_results_is_a_column_of_no_number() -> None:
    (row,) = number_rows([{}, document(result("a"))], ["x", "y"])
    assert (row.absent, row.unlike) == (("no number", ""), ("",))


def test_a_group_is_a_subset_when_one_of_its_tasks_is() -> None:
    found = document(
        result("a"),
        result("g"),
        groups={"g": ["a"]},
        subset={"a": {"of": 100, "chosen": 4, "how": ["limit"]}},
        not_comparable=["a"],
        unfinished={},
    )
    assert [row.notes for row in number_rows([found], ["x"])] == [
        "not comparable; subset",
        "not comparable; subset: 4 of 100",
    ]


@pytest.mark.parametrize(
    ("of", "chosen", "note"),
    [(31026, 3000, "subset: 3,000 of 31,026"), (None, 3000, "subset: 3,000"), (7, 7, "")],
    ids=["part", "part of an unknown number", "all of them"],
)
def test_a_subset_says_what_it_left_out(of: int | None, chosen: int, note: str) -> None:
    found = document(result("a"), subset={"a": {"of": of, "chosen": chosen, "how": ["limit"]}})
    assert number_rows([found], ["x"])[0].notes == note


def test_what_is_missing_is_said_with_the_bounds() -> None:
    found = document(result("a", scored=3, unscored=1, bounds=[0.25, 0.5]))
    assert number_rows([found], ["x"])[0].notes == "1 unscored, bounds 0.2500 to 0.5000"


@pytest.mark.parametrize("name", TABLES)
def test_a_task_that_a_run_never_had_is_not_asked_in_every_table(name: str) -> None:
    written = table(name, document(result("a"), result("b")), document(result("b")))
    (line,) = (line for line in written.splitlines() if "not asked" in line)
    assert line.startswith(("|A ", r"\hspace*{0em}A &", "two,a,"))


def test_a_task_without_this_metric_has_no_number() -> None:
    rows = number_rows([document(result("a"), result("a", "k")), document(result("a"))], ["x", "y"])
    assert [row.absent for row in rows] == [("", ""), ("", "no number")]
