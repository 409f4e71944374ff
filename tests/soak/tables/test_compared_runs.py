"""Runs of empty answers beside runs of right answers."""

from pathlib import Path

import pytest

from tests.stories.test_compare import compared, numbers
from tests.support.cli import QUIET, mmeval


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the right answers and of empty ones: a group of three tasks, and one with
    repeats."""
    folder = tmp_path_factory.mktemp("runs")
    for model in ("reference", "empty"):
        words = (
            "--model",
            model,
            "--tasks",
            "unim,mmmg_audio_text_order",
            "--data",
            "bundled",
            "--table",
            "none",
        )
        assert mmeval(*words, *QUIET, cwd=folder).code == 0
    return folder / "runs"


def test_empty_answers_are_worse_than_right_ones_and_shut_the_gate(runs: Path) -> None:
    tasks = ("--tasks", "unim_hard,mmmg_audio_text_order")
    done = compared(runs, *tasks, "--format", "json")
    found = numbers(done)
    assert done.code == 0
    assert [(row["difference"], row["verdict"]) for row in found.values()] == [
        (-1.0, "worse")
    ] * 2
    assert [row["clusters"] for row in found.values()] == [8, 6]
    assert compared(runs, *tasks, "--fail_if_worse").code == 5
