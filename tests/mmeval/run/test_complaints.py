from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(
    ("answers", "lost", "notes"),
    [
        ({"a": (NEITHER, SOUND)}, "", [("a", "picture_worth", NO_PICTURE)]),
        ({"a": (NEITHER, SOUND, PICTURE)}, "", []),
        (
            {"a": (NEITHER,), "b": (SOUND,), "c": (NEITHER,)},
            "",
            [("a, c", "sound_worth", NO_SOUND), ("a, b, c", "picture_worth", NO_PICTURE)],
        ),
        ({"a": (NEITHER, SOUND)}, SOUND, []),
    ],
    ids=["no answer holds a picture", "one does", "several tasks", "an answer never came"],
)
def test_a_number_that_no_answer_holds_is_noted(tmp_path: Path, answers: Any, lost: str, notes: Any) -> None:
    if lost:
        break_model(tmp_path, lost)
    folder = write_files(tmp_path / "tasks", {f"{name}.yaml": TASK.format(name=name) for name in answers})
    for name, texts in answers.items():
        write_rows(folder / name, *({"id": f"{name}{i}", "input": text, "kind": text} for i, text in enumerate(texts)))
    found = run_toy(tmp_path, *select([*answers], [folder], TaskOverrides()).tasks).notes
    assert [note.partition(": ")[0] for note in found] == [tasks for tasks, _, _ in notes]
    assert all(metric in note and why in note for note, (_, metric, why) in zip(found, notes, strict=True))
