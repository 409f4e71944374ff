from collections.abc import Sequence
from typing import Any

import pytest

from mmeval.report.headline import further_rows, headline_rows
from mmeval.results.numbers import number_rows
from tests.support.stored_runs import document, result

NO_JUDGE: dict[str, Any] = {"value": None, "scored": 0, "unavailable": 4}


def benchmark(total: dict[str, Any], **metrics: Any) -> dict[str, Any]:
    """A structure that needs nothing, a quality made of two looks, and a total made of
    a verdict and the quality."""
    made_of: dict[str, Any] = {
        "quality": {
            "outputs": ["quality"],
            "pieces": ["look", "sound"],
            "without": {"sound": "no weights"},
        },
        "total": {"outputs": ["total"], "pieces": ["verdict", "quality"]},
        **metrics,
    }
    rows = [
        result("a", "structure"),
        result("a", "verdict", **total),
        result("a", "look"),
        result("a", "quality"),
    ]
    slices = [result("a", "structure", slice="level=easy")]
    return document(
        *rows, result("a", "total", **total), *slices, metrics={"a": made_of}
    )


def chosen(*documents: dict[str, Any]) -> list[tuple[str, str, str]]:
    rows = number_rows(documents, ["x", "y"][: len(documents)], empty=True)
    return [(row.task, row.metric, row.slice) for row in headline_rows(rows)]


@pytest.mark.parametrize(
    ("given", "metric"),
    [
        ([benchmark({})], "total"),
        ([benchmark(NO_JUDGE)], "structure"),
        ([benchmark({}), benchmark({})], "total"),
        ([benchmark({}), benchmark(NO_JUDGE)], "structure"),
        ([benchmark({}), {}], "total"),
        (
            [
                document(
                    result("a", "x", **NO_JUDGE), result("a", "y"), result("a", "z")
                )
            ],
            "y",
        ),
        ([document(result("a", "x", **NO_JUDGE), result("a", "y", **NO_JUDGE))], "x"),
        (
            [
                document(
                    result("a", "x", value=None, scored=3, unscored=1), result("a", "y")
                )
            ],
            "x",
        ),
    ],
    ids=[
        "total",
        "no judge",
        "two runs",
        "one without judge",
        "one unfinished",
        "first with a value",
        "none",
        "lost",
    ],
)
def test_a_total_stands_for_its_task_else_the_first_number(
    given: Sequence[dict[str, Any]], metric: str
) -> None:
    assert chosen(*given) == [("a", metric, "")]


def test_a_number_of_averages_stands_before_another_total() -> None:
    parts = {"pieces": ["x", "y"]}
    made_of = {
        "both": {"outputs": ["both"], **parts},
        "mean": {"outputs": ["mean"], "of_averages": True, **parts},
    }
    rows = [
        result(name, metric) for name in "ga" for metric in ("x", "y", "both", "mean")
    ]
    assert chosen(document(*rows, groups={"g": ["a"]}, metrics={"a": made_of})) == [
        ("g", "mean", ""),
        ("a", "mean", ""),
    ]


def test_a_partial_total_is_no_headline_of_a_task_nor_of_its_group() -> None:
    part = {
        "a": {
            "total": {
                "outputs": ["total"],
                "pieces": ["x", "y"],
                "without": {"y": "no weights"},
            }
        }
    }
    rows = [result(name, metric) for name in ("g", "a") for metric in ("total", "x")]
    given = document(
        *rows, result("b", "total"), groups={"g": ["a", "b"]}, metrics=part
    )
    assert chosen(given) == [("g", "x", ""), ("a", "x", ""), ("b", "total", "")]


def test_a_task_without_any_number_keeps_its_row() -> None:
    given = document(result("a"))
    assert chosen({**given, "group_subtasks": {"a": [], "b": []}}) == [
        ("a", "m", ""),
        ("b", "", ""),
    ]


def judged(*outputs: str, **more: Any) -> dict[str, Any]:
    return {"outputs": list(outputs), "judged": True, **more}


def further(given: dict[str, Any], task: str = "a") -> list[str]:
    rows = number_rows([given], [""])
    (headline,) = [row for row in headline_rows(rows) if row.task == task]
    return [row.metric for row in further_rows(rows, headline, given)]


def test_below_a_headline_come_totals_of_verdicts_then_verdicts_then_other_totals() -> (
    None
):
    metrics = {
        "free": {"outputs": ["free"]},
        "grade": judged("style", "form", "grade"),
        "verdict": judged("verdict"),
        "both": {"outputs": ["both"], "pieces": ["grade", "free"]},
        "mean": {"outputs": ["mean"], "pieces": ["free", "look"], "of_averages": True},
        "sum": {"outputs": ["sum"], "pieces": ["free", "look"]},
    }
    names = ("free", "style", "form", "grade", "verdict", "both", "mean", "sum", "look")
    rows = [result("a", name, value=index) for index, name in enumerate(names)]
    given = document(*rows, metrics={"a": metrics})
    assert further(given) == ["both", "grade", "verdict", "sum", "style", "form"]


def test_a_group_has_the_verdicts_of_its_tasks_below_its_headline() -> None:
    rows = [result(name, metric) for name in "ga" for metric in ("free", "verdict")]
    rows[1]["value"] = rows[3]["value"] = 0.25
    metrics = {"a": {"verdict": judged("verdict")}}
    given = document(*rows, groups={"g": ["a"]}, metrics=metrics)
    assert further(given, "g") == ["verdict"]


@pytest.mark.parametrize(
    ("counts", "has_row"),
    [
        (NO_JUDGE, False),
        ({"value": None, "scored": 0, "inapplicable": 4}, False),
        ({"value": None, "scored": 0, "failed": 4}, False),
        ({"value": None, "scored": 0, "unscored": 4}, True),
    ],
    ids=["no judge", "nothing to score", "no answer", "every verdict lost"],
)
def test_a_verdict_without_a_value_has_a_row_only_if_scores_were_lost(
    counts: dict[str, Any], has_row: bool
) -> None:
    given = document(
        result("a", "free"),
        result("a", "verdict", **counts),
        metrics={"a": {"verdict": judged("verdict")}},
    )
    assert further(given) == ["verdict"] * has_row
