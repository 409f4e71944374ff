from typing import Any

import pytest

from mmeval.report.numbers import number_rows
from mmeval.report.page.absent import not_computed
from tests.support.number_documents import document, result

JUDGE = "it asks the role 'judge', which this run has not; add --role judge=BACKEND"
NONE: dict[str, Any] = {"value": None, "scored": 0}


def lacking(*documents: dict[str, Any]) -> list[dict[str, Any]]:
    return not_computed(number_rows(documents, ["one", "two"][: len(documents)]), documents, uncounted=False)


def metric(name: str, unavailable: str = "", *pieces: str) -> dict[str, Any]:
    return {name: {"outputs": [name], "unavailable": unavailable, "pieces": list(pieces)}}


def test_a_remedy_is_there_once_with_all_numbers_that_it_gives() -> None:
    made_of = metric("total", f"it is made of m, which is unavailable: {JUDGE}", "m", "x")
    metrics = {name: {**metric("m", JUDGE), **metric("x"), **made_of} for name in "ab"}
    numbers = [result(name, one, **NONE, unavailable=4) for name in "gab" for one in ("m", "total")]
    (found,) = lacking(document(*numbers, result("a", "x"), groups={"g": ["a", "b"]}, metrics=metrics))
    assert (found["fix"], found["count"]) == ("add --role judge=BACKEND", 6)
    assert [(place["name"], place["href"], place["metrics"]) for place in found["places"]] == [
        ("G", "", "m, total"),
        ("A", "#task=a", "m, total"),
        ("B", "#task=b", "m, total"),
    ]


def test_reasons_that_differ_in_the_name_of_the_task_are_one() -> None:
    metrics = {name: metric("m", f"no weights; run: mmeval prepare {name} --weights") for name in ("a", "b")}
    (found,) = lacking(document(*(result(name, **NONE, unavailable=4) for name in ("a", "b")), metrics=metrics))
    assert (found["fix"], found["count"]) == ("run: mmeval prepare a b --weights", 2)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"unsupported": 4}, "does not take or give"),
        ({"unscored": 3, "failed": 1}, "failed or unscored"),
        ({"inapplicable": 4}, "holds anything"),
        ({"suspended": True}, "suspended"),
    ],
    ids=["unsupported", "lost", "nothing to score", "suspended"],
)
def test_without_a_recorded_reason_the_counts_are_one(counts: dict[str, Any], words: str) -> None:
    (found,) = lacking(document(result("a", **NONE, **counts), result("a", "k", slice="level=easy")))
    assert (words in found["why"], found["fix"]) == (True, "")


def test_what_one_of_the_runs_has_is_not_missing() -> None:
    assert lacking(document(result("a", **NONE, unscored=4)), document(result("a"))) == []
