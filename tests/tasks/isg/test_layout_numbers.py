from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.results import NumberKey, TableNumber
from mmeval.results.stored_run import StoredRun
from mmeval.tasks.isg.layout_numbers import answer_facts, category_numbers
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS
from tests.support.stored_runs import Row, stored, trials

JUDGED = tuple(f"isg_{level}" for level in LEVELS)
OFFICIAL = {"isg": {"outputs": list(JUDGED), "switches": {"reading": "official"}}}
Values = tuple[float | str | None, ...]


def score(value: float | str | None, unread: int = 0) -> dict[str, Any]:
    if value is None or isinstance(value, str):
        return {"value": None, "status": value or "inapplicable"}
    evidence = {"asked": [0, 1], "unread": unread}
    return {"value": value, "status": "scored", "evidence": evidence}


def rows(*answers: Values, unread: int = 0) -> list[Row]:
    """Answers with a value on each level: structural, block, image, holistic."""
    scores = []
    for answer in answers:
        by_number = {}
        for name, value in zip(JUDGED, answer, strict=True):
            by_number[name] = score(value, unread)
        scores.append(by_number)
    return trials(scores)


def run_of(folder: Path, tasks: Mapping[str, Sequence[Row]], **ours: Any) -> StoredRun:
    named = {f"isg_{name}": list(own) for name, own in tasks.items()}
    return stored(folder, named, layout="isg", numbers=list(JUDGED), **ours)


def numbers(run: StoredRun, slice: str = "") -> dict[tuple[str, str], TableNumber]:
    found = {}
    for number in category_numbers(run):
        if number.key.slice == slice:
            found[number.key.task, number.key.metric] = number
    return found


def official(tasks: Mapping[str, Any]) -> dict[str, Any]:
    return {"metrics": {f"isg_{name}": OFFICIAL for name in tasks}}


def test_a_category_is_the_mean_of_its_samples_and_not_of_its_subtasks(
    tmp_path: Path,
) -> None:
    tasks = {
        "howto": rows((1, 4, 1, 4), (1, 4, 1, 4)),
        "scientific": rows((0, 1, 0, 1)),
    }
    found = numbers(run_of(tmp_path, tasks))
    assert found["isg_itc", "isg_structural"].value == pytest.approx(2 / 3)
    assert found["isg_itc", "isg_block"].value == 3


def test_a_category_without_one_of_its_subtasks_has_no_value(tmp_path: Path) -> None:
    number = numbers(run_of(tmp_path, {"howto": rows((1, 4, 1, 4))}))[
        "isg_itc", "isg_block"
    ]
    assert (number.value, number.state) == (None, "lost")
    assert number.reason == "some of its subtasks were not asked"


def test_the_pictures_of_vqa_have_no_questions(tmp_path: Path) -> None:
    tasks = dict.fromkeys(("object_qa", "historical"), rows((1, 4, None, 4)))
    found = numbers(run_of(tmp_path, tasks))
    assert found["isg_vqa", "isg_image"].state == "cannot"
    assert found["isg_vqa", "isg_block"].value == 4


def test_the_released_script_forgets_semantic_decomposition(tmp_path: Path) -> None:
    tasks = {
        "realistic_decomposition": rows((0, 1, 0, 1)),
        "semantic_decomposition": rows((1, 9, 1, 9)),
    }
    run = run_of(tmp_path, tasks, **official(tasks))
    released = numbers(run, "released")
    assert released["isg_decomposition", "isg_block"].value == 1


def test_the_released_script_prints_0_for_a_category_without_a_value(
    tmp_path: Path,
) -> None:
    tasks = {"howto": rows((1, 4, 1, 4))}
    released = numbers(run_of(tmp_path, tasks, **official(tasks)), "released")
    assert len(released) == len(CATEGORIES) * len(LEVELS)
    assert released["isg_style", "isg_block"].value == 0
    assert released["isg_vqa", "isg_image"].state == "cannot"


def test_without_the_official_profile_the_released_script_has_no_numbers(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path, {"howto": rows((1, 4, 1, 4))})
    assert numbers(run, "released") == {}


@pytest.mark.parametrize("slice", ["", "released"])
def test_a_level_whose_scoring_is_suspended_has_no_value(
    tmp_path: Path, slice: str
) -> None:
    tasks = {"howto": rows((1, 4, 1, 4)), "scientific": rows((1, 4, 1, 4))}
    suspended = []
    for name in tasks:
        row = {"task": f"isg_{name}", "metric": "isg_block", "value": None}
        suspended.append({**row, "n": 1, "scored": 1, "suspended": True})
    run = run_of(tmp_path, tasks, results=suspended, **official(tasks))
    found = numbers(run, slice)
    assert found["isg_itc", "isg_block"].state == "lost"
    assert found["isg_itc", "isg_image"].value == 1


def test_unread_verdicts_are_counted(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"howto": rows((1, 4, 1, 4), unread=1)})
    assert answer_facts(run) == {"Unread verdicts": "4 of 8"}


def test_a_run_without_tasks_of_isg_has_no_numbers(tmp_path: Path) -> None:
    run = stored(tmp_path, {"other": rows()}, layout="isg", numbers=["x"])
    assert list(category_numbers(run)) == []


def test_a_number_has_the_key_of_its_group(tmp_path: Path) -> None:
    run = run_of(tmp_path, {"howto": rows((1, 4, 1, 4))})
    keys = [number.key for number in category_numbers(run)]
    assert NumberKey("isg_itc", "isg_structural") in keys
