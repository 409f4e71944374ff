from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.authoring.bounds import Bounds, Which, judge_calls, measure, shuffled_answers
from mmeval.metric.contract import load_metric
from mmeval.records.score import Result
from mmeval.run.options import BackendSpec
from mmeval.task.selection import select
from mmeval.task.task import Task
from tests.support.task_folder import task, write_files, write_rows
from tests.support.toy import Rows


def tasks_with(folder: Path, *references: str | None, more: str = "") -> tuple[Task, ...]:
    """A task ``t`` with a sample for each reference; None leaves it without."""
    write_files(folder, {"t.yaml": task("t", f"dataset_path: rows\n{more}")})
    rows = [{"id": str(i), "input": f"q{i}", "level": i % 2} for i in range(len(references))]
    given = ({} if text is None else {"reference": text} for text in references)
    write_rows(folder / "rows", *({**row, **reference} for row, reference in zip(rows, given, strict=True)))
    return select([str(folder / "t.yaml")]).tasks


def values(bounds: Bounds) -> list[float | None]:
    return [bounds.value(which) for which in ("reference", "shuffled", "empty")]


def test_right_answers_are_told_from_those_of_other_samples_and_from_none(tmp_path: Path) -> None:
    (found,) = measure(tasks_with(tmp_path, "a", "b", "c"), {})

    assert values(found) == [1.0, 0.0, 0.0]
    assert list(found.doubts()) == []


def test_every_sample_gets_the_reference_of_another_one(tmp_path: Path) -> None:
    tasks = tasks_with(tmp_path, *"abcdefgh")

    first, second = (shuffled_answers(tasks)["t"] for _ in range(2))

    assert sorted(answer.text for answer in first.values()) == [*"abcdefgh"]
    assert all(answer.text != "abcdefgh"[int(name)] for name, answer in first.items())
    assert first == second, "the draw has a seed"


def test_answers_are_shuffled_among_the_samples_that_the_filter_and_the_limit_leave(tmp_path: Path) -> None:
    tasks = tasks_with(tmp_path, *"abcdefgh", more="filter: {level: 0}")

    assert shuffled_answers(tasks, limit=3)["t"].keys() == {"0", "2", "4"}


def test_samples_that_cannot_be_asked_are_not_among_those_that_are_shuffled(tmp_path: Path) -> None:
    (of,) = tasks_with(tmp_path, *"abcd")
    rows = [replace(sample, fault="torn" if sample.id == "2" else "") for sample in of.dataset()]

    given = shuffled_answers([replace(of, dataset=lambda: Rows(rows))])["t"]

    assert (given.keys(), "c" in {answer.text for answer in given.values()}) == ({"0", "1", "3"}, False)


@pytest.mark.parametrize("references", [("a",), ("a", None), (None, None)], ids=["one", "one of two", "none"])
def test_with_fewer_than_two_references_nothing_is_shuffled(references: tuple[str | None, ...], tmp_path: Path) -> None:
    (found,) = measure(tasks_with(tmp_path, *references), {})

    assert (found.only_one, found.value("shuffled")) == (True, None)


def test_a_metric_that_looks_at_the_answer_alone_need_not_tell_whose_it_is() -> None:
    told = [replace(bounds_of(0.3, 0.9, 30), reference_free=free) for free in (False, True)]

    assert ["references of other samples" in "".join(d.message for d in one.doubts()) for one in told] == [True, False]


def test_it_is_still_to_be_told_from_none() -> None:
    (doubt,) = replace(bounds_of(0.0, 0.0, 30), reference_free=True).doubts()

    assert doubt.message.startswith("m cannot tell the right answers from empty ones")


@pytest.mark.parametrize("name", ["image_quality", "niqe", "unim_gq"])
def test_those_of_quality_say_so(name: str) -> None:
    assert load_metric(name).reference_free


def test_a_task_whose_answers_are_all_alike_cannot_be_told_from_a_shuffled_one(tmp_path: Path) -> None:
    (found,) = measure(tasks_with(tmp_path, "a", "a", "a"), {})

    (doubt,) = found.doubts()
    assert doubt.message.startswith("exact_match cannot tell the right answers from shuffled ones")
    assert not doubt.wrong


def test_each_sample_is_asked_once_however_often_the_task_repeats_it(tmp_path: Path) -> None:
    (found,) = measure(tasks_with(tmp_path, "a", "b", more="repeats: 4"), {})

    assert found.results["reference"].n == 2


def test_what_cannot_be_computed_here_is_listed_with_the_reason() -> None:
    (found,) = measure(select(["rubric_example"]).tasks, {})

    assert values(found) == [None, None, None]
    assert "judge" in found.unavailable


def test_the_calls_of_a_judge_are_counted_without_making_one() -> None:
    tasks = select(["rubric_example"], roles=frozenset({"judge"})).tasks
    judge = {"judge": BackendSpec("openai", {"model": "m"})}  # needs a key, which is missing

    assert judge_calls(tasks, judge) == {"judge": 7}
    assert judge_calls(tasks, judge, limit=1) == {"judge": 2}
    assert judge_calls(select(["rubric_example"]).tasks, {}) == {}


@pytest.mark.parametrize(
    ("right", "shuffled", "scored", "said"),
    [
        (0.6, 0.5, 400, []),
        (0.52, 0.5, 400, ["cannot tell"]),
        (0.52, 0.5, 10, []),
        (0.48, 0.5, 400, ["cannot tell"]),
        (0.3, 0.5, 400, ["look at its higher_is_better"]),
        (0.3, 0.5, 10, ["look at its higher_is_better"]),
    ],
)
def test_two_standard_errors_decide_where_there_are_enough_samples(
    right: float, shuffled: float, scored: int, said: list[str]
) -> None:
    doubts = [doubt.message for doubt in bounds_of(right, shuffled, scored).doubts()]

    assert len(doubts) == len(said)
    assert all(words in doubt for words, doubt in zip(said, doubts, strict=True))


@pytest.mark.parametrize(
    ("scored", "suspended", "said"),
    [(0, False, "m scored 0 of 3 references: no JSON"), (1, True, "m scored 1 of 3 references: its role stopped")],
    ids=["no verdict", "suspended"],
)
def test_references_without_a_number_are_an_error_with_its_reason(scored: int, suspended: bool, said: str) -> None:
    result = Result("t", "m", None, 3, scored, unscored=3 - scored, suspended=suspended)
    (base,) = select(["rubric_example"]).tasks

    (doubt,) = Bounds(base, "m", True, {"reference": result}, lost={"reference": "no JSON"}).doubts()

    assert doubt.wrong
    assert doubt.message.startswith(said)


def test_of_samples_that_have_no_reference_nothing_is_said() -> None:
    (base,) = select(["rubric_example"]).tasks

    assert list(Bounds(base, "m", True, {"reference": Result("t", "m", None, 3, 0, unsupported=3)}).doubts()) == []


def test_of_references_that_hold_nothing_for_a_metric_nothing_is_said_and_others_are_counted_without_them() -> None:
    (base,) = select(["rubric_example"]).tasks
    silent = Result("t", "m", None, 3, 0, inapplicable=3)
    damaged = Result("t", "m", None, 3, 0, inapplicable=2, unscored=1)
    lost = {"reference": "damaged"}

    assert list(Bounds(base, "m", True, {"reference": silent, "empty": silent}, judged=True).doubts()) == []
    (doubt,) = Bounds(base, "m", True, {"reference": damaged}, lost=lost).doubts()  # type: ignore[arg-type]
    assert doubt == ("m scored 0 of 1 references: damaged", True)


def test_verdicts_that_a_judge_did_not_give_are_a_warning_with_the_most_frequent_reason() -> None:
    (base,) = select(["rubric_example"]).tasks
    results: dict[Which, Result] = {
        "reference": Result("t", "m", 1.0, 3, 3),
        "shuffled": Result("t", "m", None, 3, 0, unscored=3),
    }

    (doubt,) = Bounds(base, "m", True, results, lost={"shuffled": "no JSON"}, judged=True).doubts()

    assert doubt == ("m gave 3 of 3 shuffled references no score: no JSON", False)


def bounds_of(right: float, shuffled: float, scored: int) -> Bounds:
    (base,) = select(["rubric_example"]).tasks
    numbers: dict[Which, float] = {"reference": right, "shuffled": shuffled, "empty": 0.0}
    results: dict[Which, Result] = {
        which: Result("t", "m", value, scored, scored, stderr=math.sqrt(0.25 / scored))
        for which, value in numbers.items()
    }
    return Bounds(base, "m", True, results)
