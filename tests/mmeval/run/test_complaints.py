from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval.task.selection import select
from mmeval.task.task import TaskOverrides
from tests.support.applying import NO_PICTURE, NO_SOUND, registered
from tests.support.task_folder import write_files, write_rows
from tests.support.toy import break_model, run_toy

TASK = """\
task: {name}
dataset_path: {name}
metric_list:
  - metric: sound_worth
  - metric: picture_worth
breakdown: [kind]
metadata: {{version: 1}}
"""
SOUND, PICTURE, NEITHER = "sounds 1", "pictures 1", "nothing"


@pytest.fixture(autouse=True)
def _metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


def told(tmp_path: Path, **answers: tuple[str, ...]) -> tuple[str, ...]:
    """What a run over some tasks, each with these answers, says of numbers that are of nothing."""
    folder = write_files(tmp_path / "tasks", {f"{name}.yaml": TASK.format(name=name) for name in answers})
    for name, texts in answers.items():
        write_rows(folder / name, *({"id": f"{name}{i}", "input": text, "kind": text} for i, text in enumerate(texts)))
    return run_toy(tmp_path, *select([*answers], [folder], TaskOverrides()).tasks).notes


def test_a_number_is_told_with_the_reason_where_no_answer_holds_anything_for_it(tmp_path: Path) -> None:
    assert told(tmp_path, a=(NEITHER, SOUND)) == (
        f"a: nothing to score by picture_worth (of every answer: {NO_PICTURE})",
    )


def test_one_answer_that_holds_something_is_enough_though_its_slices_are_of_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, a=(NEITHER, SOUND, PICTURE)) == ()


def test_tasks_of_which_the_same_is_so_are_told_together_and_each_number_apart(tmp_path: Path) -> None:
    assert told(tmp_path, a=(NEITHER,), b=(SOUND,), c=(NEITHER,)) == (
        f"a, c: nothing to score by sound_worth (of every answer: {NO_SOUND})",
        f"a, b, c: nothing to score by picture_worth (of every answer: {NO_PICTURE})",
    )


def test_an_answer_that_never_came_might_have_held_something(tmp_path: Path) -> None:
    break_model(tmp_path, SOUND)
    assert told(tmp_path, a=(NEITHER, SOUND)) == ()
