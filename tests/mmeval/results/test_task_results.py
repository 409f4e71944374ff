from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import PluginError
from mmeval.records.score import Result, Score
from mmeval.results.task_results import TaskNumbers, group_results, task_results, unscored_reasons
from mmeval.scoring.score_set import ScoreSet
from mmeval.task.task import Group, GroupMetric, Task
from tests.support.toy import task


def row(index: int, value: float | None = None, **more: Any) -> dict[str, Any]:
    """A score row; without a value its score is missing."""
    scores = {} if value is None else {"exact_match": {"value": value, "status": "scored"}}
    return {"i": index, "n": 0, "s": f"s{index}", "d": "d", "status": "ok", "scores": scores, **more}


def results(run: Path, of: Task, *rows: Mapping[str, Any], **more: Any) -> list[Result]:
    scores = ScoreSet(run, of.name, {"outputs": ["exact_match"]})
    for one in rows:
        scores.add(json.dumps(one).encode() + b"\n")
    scores.finish()
    return task_results(TaskNumbers.of(of), scores.folder, lambda index, repeat: index < 100, **more)


def named(task_name: str, value: float | None, n: int = 10) -> Result:
    return Result(task_name, "m", value, n=n, scored=n)


def test_a_task_has_one_result_a_metric_over_the_wanted_trials(tmp_path: Path) -> None:
    (result,) = results(tmp_path, task(), row(0, 1), row(1, 0), row(100, 0))
    assert (result.task, result.metric, result.value, result.n) == ("toy", "exact_match", 0.5, 2)


def test_a_breakdown_adds_a_result_for_each_level(tmp_path: Path) -> None:
    of = task(breakdown=("level", "tag"))
    found = results(
        tmp_path,
        of,
        row(0, 1, labels={"level": "hard", "tag": ["a", "b"]}),
        row(1, 0, labels={"level": "easy", "tag": ["b"]}),
    )
    assert {result.slice: (result.value, result.n) for result in found} == {
        "": (0.5, 2),
        "level=easy": (0.0, 1),
        "level=hard": (1.0, 1),
        "tag=a": (1.0, 1),
        "tag=b": (0.5, 2),
    }


def test_what_was_not_asked_not_answered_or_not_scored_is_counted_apart(tmp_path: Path) -> None:
    (result,) = results(tmp_path, task(), row(0, 1), row(1), row(2, status="failed"), row(3, status="unsupported"))
    counts = (result.scored, result.unscored, result.failed, result.unsupported)
    assert (counts, result.value) == ((1, 1, 1, 1), 1.0)


def test_trials_of_one_cluster_count_as_one_piece_of_evidence(tmp_path: Path) -> None:
    values = [row(i, i % 2, cluster="book") for i in range(4)]
    assert results(tmp_path, task(), *values)[0].stderr is None


def test_what_is_known_of_an_unscored_trial_narrows_the_bounds(tmp_path: Path) -> None:
    lost = {"exact_match": Score.unscored("one of four verdicts is lost", bounds=(0.25, 0.5)).to_json()}
    (result,) = results(tmp_path, task(), row(0, 1), row(1, scores=lost))
    assert (result.unscored, result.bounds) == (1, (0.625, 0.75))


def test_a_suspended_number_has_counts_and_bounds_whole_and_in_each_slice(tmp_path: Path) -> None:
    rows = (row(0, 1, labels={"level": "hard"}), row(1, labels={"level": "hard"}))
    whole, part = results(tmp_path, task(breakdown=("level",)), *rows, suspended=["exact_match"])
    for result in (whole, part):
        assert (result.suspended, result.value, result.stderr, result.ci95) == (True, None, None, None)
        assert (result.scored, result.unscored, result.bounds) == (1, 1, (0.5, 1))


def test_other_numbers_are_not_suspended(tmp_path: Path) -> None:
    assert results(tmp_path, task(), row(0, 1), suspended=["story_rubric"])[0].value == 1


def test_a_number_is_made_by_the_aggregator_and_options_that_the_task_names(tmp_path: Path) -> None:
    (metric,) = task().metrics
    of = replace(task(), metrics=(replace(metric, options={"interval": "bootstrap"}),))
    cases: dict[str, dict[str, int]] = {"asked": {"bootstrap_iters": 300}, "usual": {}}
    rows = [row(i, i % 2) for i in range(20)]
    asked, usual = (results(tmp_path / name, of, *rows, **given)[0] for name, given in cases.items())
    assert (asked.value, asked.bootstrap_iters) == (0.5, 300)
    assert usual.bootstrap_iters == 1000


@pytest.mark.parametrize("given", [{"range": (0, 1)}, {"interval": None, "no_such": 1}], ids=str)
def test_an_aggregator_that_fails_is_named_and_the_way_out_with_it(tmp_path: Path, given: dict[str, Any]) -> None:
    (metric,) = task().metrics
    of = replace(task(), metrics=(replace(metric, options=given),))
    with pytest.raises(PluginError, match=r"toy: the aggregator 'mean' failed on exact_match \(TypeError: .* are kept"):
        results(tmp_path, of, row(0, 1))


def test_what_is_asked_of_a_task_can_be_sent_to_another_process() -> None:
    numbers = TaskNumbers.of(task(breakdown=("level",)))
    assert pickle.loads(pickle.dumps(numbers)) == numbers


def test_a_task_without_rows_has_a_result_without_a_value(tmp_path: Path) -> None:
    (result,) = results(tmp_path, task())
    assert (result.value, result.n) == (None, 0)


def test_a_group_takes_tasks_and_groups_and_only_whole_results() -> None:
    inner = Group("inner", "Inner", ("b", "c"), (GroupMetric("m"),))
    outer = Group("outer", "Outer", ("a", "inner"), (GroupMetric("m"),))
    whole = [named("a", 1.0), named("b", 0.0), named("c", 0.5)]
    sliced = replace(named("a", 0.0), slice="level=hard")
    found = {result.task: result.value for result in group_results([outer, inner], [*whole, sliced])}
    assert found == {"outer": 0.625, "inner": 0.25}


def test_a_weighted_group_weighs_inner_groups_by_their_trials_too() -> None:
    inner = Group("inner", "Inner", ("b", "c"))
    outer = Group("outer", "Outer", ("a", "inner"), (GroupMetric("m", weight_by_size=True),))
    whole = [named("a", 1.0), named("b", 0.0, n=20), named("c", 0.5)]
    (result,) = group_results([outer, inner], whole)
    assert (result.value, result.scored) == ((10 * 1.0 + 20 * 0.0 + 10 * 0.5) / 40, 40)


def test_a_group_without_any_member_that_has_the_metric_has_no_result() -> None:
    assert group_results([Group("g", "G", ("a",), (GroupMetric("other"),))], [named("a", 1.0)]) == []


def test_a_task_that_a_group_reaches_twice_counts_once() -> None:
    inner = Group("inner", "Inner", ("a", "b"))
    outer = Group("outer", "Outer", ("inner", "a"), (GroupMetric("m"),))
    (result,) = group_results([outer, inner], [named("a", 1.0), named("b", 0.0)])
    assert (result.value, result.n, result.scored) == (0.5, 20, 20)


def test_the_reasons_of_what_is_unscored_are_counted_over_the_wanted_trials(tmp_path: Path) -> None:
    scores = ScoreSet(tmp_path, "toy", {"outputs": ["exact_match"]})
    for at, reason in enumerate(["boom", "boom", "bang", "", "boom"]):
        score = {"value": None, "status": "unscored", "reason": reason} if reason else {"value": 1, "status": "scored"}
        score |= {"cause": "lost"} if reason == "boom" else {}
        scores.add(json.dumps({**row(at), "scores": {"exact_match": score}}).encode() + b"\n")
    scores.finish()
    found = unscored_reasons(scores, lambda index, _: index < 4, "exact_match")
    assert found == {("boom", "lost"): 2, ("bang", "final"): 1}
