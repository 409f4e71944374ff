from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.results.stored_run import StoredRun
from mmeval.tasks.ueval.layout_numbers import judge_facts, question_means
from tests.support.stored_runs import Row, numbers_of, stored, trials

SIDES = ("ueval_text", "ueval_image")
Side = float | str | None
"""The share of met criteria, a status, or None without criteria."""


def score(value: Side, odd: int) -> Row:
    if value is None or isinstance(value, str):
        return {"value": None, "status": value or "inapplicable"}
    criteria = [{"raw": "yes"}, {"raw": "not sure"}]
    evidence = {"criteria": criteria, "not_sure": 1, "odd_value": odd, "pictures": 3}
    return {"value": value, "status": "scored", "evidence": evidence}


def rows(*answers: tuple[Side, Side], odd: int = 0) -> list[Row]:
    """Answers with the values of their text and image."""
    scores = []
    for answer in answers:
        sides = zip(SIDES, answer, strict=True)
        scores.append({name: score(value, odd) for name, value in sides})
    return trials(scores)


def run_of(folder: Path, tasks: Mapping[str, Sequence[Row]], **ours: Any) -> StoredRun:
    named = {f"ueval_{name}": list(own) for name, own in tasks.items()}
    results: list[Row] = []
    for name, own in named.items():
        results += numbers_of(name, own, SIDES, "ueval_score")
    numbers = list(SIDES)
    return stored(
        folder, named, layout="ueval", numbers=numbers, **{"results": results, **ours}
    )


def means(run: StoredRun) -> dict[str, tuple[float | None, str]]:
    found: dict[str, tuple[float | None, str]] = {}
    for number in question_means(run):
        assert (number.key.task, number.key.slice) == ("ueval", "questions")
        found[number.key.metric] = (number.value, number.state)
    return found


def test_each_question_counts_the_same_whatever_its_task(tmp_path: Path) -> None:
    tasks = {"art": rows((1.0, 1.0)), "life": rows((0.5, 0.0), (0.0, None))}
    assert means(run_of(tmp_path, tasks)) == {
        "ueval_text": (0.5, ""),
        "ueval_image": (0.5, ""),
    }


def test_a_task_whose_value_is_lost_leaves_no_fair_sample(tmp_path: Path) -> None:
    tasks = {"art": rows((1.0, "unscored")), "life": rows((0.0, 1.0))}
    found = means(run_of(tmp_path, tasks))
    assert found["ueval_image"] == (None, "lost")
    assert found["ueval_text"] == (0.5, "")


def test_doubts_replies_and_pictures_are_counted(tmp_path: Path) -> None:
    tasks = {"art": rows((0.5, 1.0), (0.5, 1.0), odd=2)}
    assert judge_facts(run_of(tmp_path, tasks)) == {
        "Not sure": "50.0%",
        "Neither yes nor no": "8",
        "Pictures": "3.0",
    }


def test_trials_that_are_not_asked_do_not_count(tmp_path: Path) -> None:
    asked = {"ueval_art": {"repeats": 1, "samples": [[0, 0]]}}
    run = run_of(tmp_path, {"art": rows((1.0, 1.0), (0.0, 0.0))}, asked=asked)
    assert means(run)["ueval_text"] == (1.0, "")


def keys_of(run: StoredRun) -> dict[Any, Any]:
    return {number.key: number for number in question_means(run)}


@pytest.mark.parametrize("facts", [judge_facts, keys_of])
def test_a_run_without_tasks_of_ueval_has_no_numbers(
    tmp_path: Path, facts: Any
) -> None:
    run = stored(tmp_path, {"other": rows()}, layout="ueval", numbers=list(SIDES))
    assert facts(run) == {}
