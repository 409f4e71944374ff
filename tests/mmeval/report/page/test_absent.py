from typing import Any

import pytest

from mmeval.report.numbers import number_rows
from mmeval.report.page.absent import not_computed
from tests.support.number_documents import document, result

NONE: dict[str, Any] = {"value": None, "scored": 0}


def lacking(*documents: dict[str, Any]) -> list[dict[str, Any]]:
    return not_computed(
        number_rows(documents, ["one", "two"][: len(documents)]),
        documents,
        uncounted=False,
    )


def metric(
    name: str, *needs: tuple[str, str], unavailable: str = "needs something"
) -> dict[str, Any]:
    return {name: {"outputs": [name], "unavailable": unavailable, "needs": needs}}


def test_a_remedy_is_there_once_with_all_numbers_that_it_gives() -> None:
    judge, captioner = ("role", "judge"), ("role", "captioner")
    metrics = {
        name: {**metric("m", judge), **metric("total", judge, captioner)}
        for name in "ab"
    }
    numbers = [
        result(name, one, **NONE, unavailable=4)
        for name in "gab"
        for one in ("m", "total")
    ]
    found = lacking(document(*numbers, groups={"g": ["a", "b"]}, metrics=metrics))
    assert [(one["why"], one["fix"]) for one in found] == [
        ("6 numbers need a judge", "--judge openai,model=NAME"),
        ("3 numbers need a captioner", "--captioner openai,model=NAME"),
    ]
    assert [
        (place["name"], place["href"], place["metrics"]) for place in found[0]["places"]
    ] == [
        ("G", "", "m, total"),
        ("A", "#task=a", "m, total"),
        ("B", "#task=b", "m, total"),
    ]


def test_models_of_several_tasks_are_one_command_that_names_them() -> None:
    metrics = {name: metric("m", ("model", "model")) for name in ("a", "b")}
    (found,) = lacking(
        document(
            *(result(name, **NONE, unavailable=4) for name in ("a", "b")),
            metrics=metrics,
        )
    )
    assert found["fix"] == "mmeval doctor a b"


def test_without_a_remedy_the_recorded_reason_is_there_whole() -> None:
    metrics = {"a": metric("m", unavailable="it is made of x; y was skipped")}
    (found,) = lacking(document(result("a", **NONE, unavailable=4), metrics=metrics))
    assert (found["why"], found["fix"]) == ("It is made of x; y was skipped", "")


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
def test_without_a_recorded_reason_the_counts_are_one(
    counts: dict[str, Any], words: str
) -> None:
    (found,) = lacking(
        document(result("a", **NONE, **counts), result("a", "k", slice="level=easy"))
    )
    assert (words in found["why"], found["fix"]) == (True, "")


def test_what_one_of_the_runs_has_is_not_missing() -> None:
    assert (
        lacking(document(result("a", **NONE, unscored=4)), document(result("a"))) == []
    )
