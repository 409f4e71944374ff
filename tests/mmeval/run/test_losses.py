from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.findings.group import grouped
from tests.support.applying import NO_PICTURE, NO_SOUND, registered
from tests.support.toy import break_model, run_toy, sample, task

METRICS = ("sound_worth", "picture_worth")
SOUND, PICTURE, NEITHER = "sounds 1", "pictures 1", "nothing"


@pytest.fixture(autouse=True)
def _metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


@pytest.mark.parametrize(
    ("answers", "lost", "notes"),
    [
        ({"a": (NEITHER, SOUND)}, "", []),
        ({"a": (NEITHER, SOUND, PICTURE)}, "", []),
        (
            {"a": (NEITHER,), "b": (SOUND,), "c": (NEITHER,)},
            "",
            [("a, c", "sound_worth", NO_SOUND), ("a, c", "picture_worth", NO_PICTURE)],
        ),
        ({"a": (NEITHER, SOUND)}, SOUND, []),
    ],
    ids=[
        "another number has a value",
        "all have",
        "several tasks",
        "an answer never came",
    ],
)
def test_what_no_answer_holds_is_noted_of_tasks_without_any_number(
    tmp_path: Path, answers: Any, lost: str, notes: Any
) -> None:
    if lost:
        break_model(tmp_path, lost)
    tasks = [
        replace(
            task(
                name,
                [sample(f"{name}{i}", text, kind=text) for i, text in enumerate(texts)],
                metrics=METRICS,
            ),
            breakdown=("kind",),
        )
        for name, texts in answers.items()
    ]
    found = grouped(
        one for one in run_toy(tmp_path, *tasks).findings if one.severity == "note"
    )
    assert [", ".join(one.names("task")) for one in found] == [
        tasks for tasks, _, _ in notes
    ]
    for group, (_, metric, why) in zip(found, notes, strict=True):
        assert (group.names("metric"), why in group.cause) == ((metric,), True)
