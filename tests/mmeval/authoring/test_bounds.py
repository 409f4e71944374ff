import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.authoring.bounds import (
    ENOUGH,
    Bounds,
    Which,
    measure,
    shuffled_answers,
)
from mmeval.dataset.bad_sample import rows_of
from mmeval.findings.finding import Finding
from mmeval.metric.contract import load_metric
from mmeval.records.score import Result
from mmeval.task.selection import select
from mmeval.task.task import Task
from tests.support.task_folder import built, write_rows
from tests.support.toy import Rows
from tests.support.toy import task as toy_task

WHICH: tuple[Which, ...] = ("reference", "shuffled", "empty")


pytestmark = pytest.mark.usefixtures("bounds_in_process")


def task_with(folder: Path, *references: str | None, more: str = "") -> Task:
    """A task with a sample for each reference; None leaves it without."""
    rows: list[dict[str, Any]] = []
    for at, reference in enumerate(references):
        rows.append({"id": str(at), "input": f"q{at}", "level": at % 2})
        if reference is not None:
            rows[at]["reference"] = reference
    write_rows(folder / "rows", *rows)
    return built(folder, f"dataset_path: rows\n{more}")


def numbers(bounds: Bounds) -> list[float | None]:
    return [bounds.value(which) for which in WHICH]


def test_right_answers_are_known_from_those_of_other_samples_and_from_none(
    tmp_path: Path,
) -> None:
    (found,) = measure([task_with(tmp_path, "a", "b", "c", more="repeats: 4")], {})
    assert (numbers(found), list(found.doubts())) == ([1.0, 0.0, 0.0], [])
    assert found.results["reference"].n == 3, "each sample is asked once"
    (alike,) = measure([task_with(tmp_path, "a", "a", "a")], {})
    assert [doubt.severity for doubt in alike.doubts()] == ["warning"]
    for references in (("a",), ("a", None), (None, None)):
        (found,) = measure([task_with(tmp_path, *references)], {})
        assert (found.only_one, found.value("shuffled")) == (True, None)


def test_every_sample_that_filter_limit_and_faults_leave_gets_the_reference_of_another(
    tmp_path: Path,
) -> None:
    first, second = (
        shuffled_answers([task_with(tmp_path, *"abcdefgh")])["t"] for _ in range(2)
    )
    assert sorted(answer.text for answer in first.values()) == [*"abcdefgh"]
    assert all(answer.text != "abcdefgh"[int(name)] for name, answer in first.items())
    assert first == second, "the draw has a seed"
    filtered = task_with(tmp_path, *"abcdefgh", more="filter: {level: 0}")
    assert shuffled_answers([filtered], limit=3)["t"].keys() == {"0", "2", "4"}
    rows = [
        replace(one, fault="torn" if one.id == "2" else "")
        for one in rows_of(task_with(tmp_path, *"abcd").dataset())
    ]
    given = shuffled_answers(
        [replace(filtered, filter={}, dataset=lambda: Rows(rows))]
    )["t"]
    assert (given.keys(), "c" in {answer.text for answer in given.values()}) == (
        {"0", "1", "3"},
        False,
    )


def test_what_cannot_be_computed_here_is_listed_with_the_reason() -> None:
    (found,) = measure(select(["rubric_example"]).tasks, {})
    assert numbers(found) == [None, None, None]
    assert "judge" in found.unavailable
    assert measure([], {}) == []


def of(results: dict[Which, Result], **more: Any) -> list[Finding]:
    return list(Bounds(toy_task(), "m", True, results, **more).doubts())


NO_DOUBT = ("", "")


def measured(
    right: float, shuffled: float, scored: int = 30, **more: Any
) -> tuple[str, str]:
    """What is doubted of means with the standard errors of a coin: how much, and beside
    what."""
    means: dict[Which, float] = {"reference": right, "shuffled": shuffled, "empty": 0.0}
    error = math.sqrt(0.25 / scored)
    found = of(
        {
            which: Result("t", "m", mean, scored, scored, stderr=error)
            for which, mean in means.items()
        },
        **more,
    )
    assert len(found) <= 1
    if not found:
        return NO_DOUBT
    other = "empty" if "empty answers" in found[0].cause else "shuffled"
    return found[0].severity, other


def test_two_standard_errors_decide_of_enough_samples() -> None:
    for right, scored in (0.6, 400), (0.52, ENOUGH - 1):
        assert measured(right, 0.5, scored) == NO_DOUBT
    for right, scored in (0.52, ENOUGH), (0.5, ENOUGH - 1), (0.48, 400):
        assert measured(right, 0.5, scored) == ("warning", "shuffled")
    for scored in (400, 10):
        assert measured(0.3, 0.5, scored) == ("error", "shuffled")


def test_a_metric_of_the_answer_alone_is_compared_with_empty_answers_alone() -> None:
    assert measured(0.3, 0.9, reference_free=True) == NO_DOUBT
    assert measured(0.0, 0.0, reference_free=True) == ("warning", "empty")
    assert all(
        load_metric(name).reference_free
        for name in ("image_quality", "niqe", "unim_gq")
    )


@pytest.mark.parametrize(
    ("result", "judged", "expected"),
    [
        (Result("t", "m", None, 3, 0, unscored=3), False, ("error", 3, 3)),
        (
            Result("t", "m", None, 3, 1, unscored=2, suspended=True),
            False,
            ("error", 2, 3),
        ),
        (Result("t", "m", None, 3, 0, unsupported=3), False, None),
        (Result("t", "m", None, 3, 0, inapplicable=3), True, None),
        (
            Result("t", "m", None, 3, 0, inapplicable=2, unscored=1),
            False,
            ("error", 1, 1),
        ),
        (Result("t", "m", 1.0, 3, 2, unscored=1), True, ("warning", 1, 3)),
        (Result("t", "m", 1.0, 3, 2, unscored=1), False, None),
    ],
    ids=[
        "no verdict",
        "suspended",
        "no reference",
        "nothing to score",
        "one left",
        "judged",
        "not judged",
    ],
)
def test_references_without_a_number_are_doubted(
    result: Result, judged: bool, expected: tuple[str, int, int] | None
) -> None:
    doubts = of({"reference": result}, lost={"reference": "no JSON"}, judged=judged)
    found = [(one.severity, one.count, one.of) for one in doubts]
    assert found == ([] if expected is None else [expected])


def test_the_reason_of_what_was_lost_is_the_cause() -> None:
    result = Result("t", "m", None, 3, 0, unscored=3)
    lost, suspended = (
        of({"reference": one}, lost={"reference": "no JSON"})[0].cause
        for one in (result, replace(result, suspended=True))
    )
    assert (lost, suspended) == (
        "references: no JSON",
        "references: its role stopped answering",
    )


def test_verdicts_that_a_judge_did_not_give_are_a_warning() -> None:
    right, none = Result("t", "m", 1.0, 3, 3), Result("t", "m", None, 3, 0, unscored=3)
    (doubt,) = of(
        {"reference": right, "shuffled": none},
        lost={"shuffled": "no JSON"},
        judged=True,
    )
    assert (doubt.kind, doubt.severity, doubt.count) == ("unscored", "warning", 3)
