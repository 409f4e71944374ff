"""Tasks of plain questions for tests from outside, and an environment in which the toys
answer and score them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET, ROOT, environment
from tests.support.task_folder import write_distribution
from tests.support.toy import PLUGINS

_TASK = (
    "task: {name}\nloader: interleaved\ndataset_path: {name}_data\noutput_modalities: "
    "[text]\n"
    "metric_list:\n  - metric: exact_match\nmetadata: {{version: 1.0}}\n"
)


def where(folder: Path) -> list[str]:
    """The flags that name the task ``ask`` of a folder, and where its runs go."""
    tasks, runs = str(folder / "tasks"), str(folder / "runs")
    return ["--tasks", "ask", "--include_path", tasks, "--output_path", runs, *QUIET]


def questions(folder: Path, numbers: Iterable[int] = range(12)) -> list[str]:
    """The same for a task of these questions, which is written."""
    write_questions(folder / "tasks", "ask", numbers)
    return where(folder)


def write_questions(folder: Path, name: str, numbers: Iterable[int]) -> Path:
    """A task that asks ``question N`` for each number. Returns the folder."""
    rows = (
        {"id": str(n), "input": f"question {n}", "reference": f"answer {n}"}
        for n in numbers
    )
    return write_task(folder, name, rows)


def write_task(
    folder: Path, name: str, rows: Iterable[Mapping[str, Any]], more: str = ""
) -> Path:
    """A task of given rows."""
    data = folder / f"{name}_data"
    data.mkdir(parents=True, exist_ok=True)
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / f"{name}.yaml").write_text(_TASK.format(name=name) + more)
    return folder


def write_benchmark(folder: Path, *names: str, rows: int = 3) -> Path:
    """Tasks over the same rows: ``question 0`` with the reference ``answer 0`` and the
    level 0, and so on."""
    asked = [
        {
            "id": f"{i}",
            "input": f"question {i}",
            "reference": f"answer {i}",
            "level": i % 2,
        }
        for i in range(rows)
    ]
    for name in names or ("tiny",):
        write_task(folder, name, asked, more=f"task_alias: {name.capitalize()}\n")
    return folder


def toy_environment(folder: Path) -> dict[str, str]:
    """The environment of a process that finds the toys as plugins; their distribution
    is written to the folder."""
    write_distribution(folder, "dist-toys", PLUGINS)
    return environment(PYTHONPATH=f"{folder}:{ROOT}")


def write_judged(folder: Path, name: str, numbers: Iterable[int]) -> Path:
    """A task of questions that a judge scores: 1 when it says yes to the answer.
    Returns the folder."""
    write_questions(folder, name, numbers)
    file = folder / f"{name}.yaml"
    file.write_text(file.read_text().replace("exact_match", "toy_verdict"))
    return folder
