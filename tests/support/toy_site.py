"""The toys as an installed distribution that other processes see, and a task that a judge scores."""

from collections.abc import Iterable
from pathlib import Path

from tests.support.cli import ROOT, environment
from tests.support.questions import write_questions
from tests.support.task_folder import write_distribution
from tests.support.toy import _PLUGINS


def toy_environment(folder: Path) -> dict[str, str]:
    """The environment of a process that finds the toys as plugins; their distribution is written to the folder."""
    write_distribution(folder, "dist-toys", _PLUGINS)
    return environment(PYTHONPATH=f"{folder}:{ROOT}")


def write_judged(folder: Path, name: str, numbers: Iterable[int]) -> Path:
    """A task of questions that a judge scores: 1 when it says yes to the answer. Returns the folder."""
    write_questions(folder, name, numbers)
    file = folder / f"{name}.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_verdict"))
    return folder
