"""Tasks for tests from outside: plain questions, a judged task, a benchmark of several
turns."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET, ROOT, environment
from tests.support.task_folder import write_distribution, write_files, write_rows
from tests.support.toy import PLUGINS

# Tasks of plain questions for tests from outside, and an environment in which the
# toys answer and score them.

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
    write_rows(folder / f"{name}_data", *rows)
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


# Task files of a small multi-turn benchmark, written into a folder for
# ``--include_path``.

TEMPLATE = """\
loader: interleaved
dataset_path: data
output_modalities: [text, image]
generation_kwargs: {temperature: 1.0, max_gen_toks: 64}
repeats: 2
metadata: {version: 1.0}
metric_list:
  - metric: strict_structure
  - metric: lenient_structure
"""
TASKS = {
    "tale_turns": "include: _tale.yaml\ntask: tale_turns\ntest_split: turns\nprotocol: "
    "episode\n",
    "tale_first": "include: _tale.yaml\ntask: tale_first\ntest_split: single\n",
    "tale_again": "include: _tale.yaml\ntask: tale_again\ntest_split: single\n",
}


def write_story_tasks(folder: Path, rows: int) -> Path:
    """Three tasks: an episode of three turns whose prompts carry the earlier answers
    and pictures, and two that ask the same questions, so that they share their
    generations."""
    tasks = {f"{name}.yaml": text for name, text in TASKS.items()}
    write_files(folder, {"_tale.yaml": TEMPLATE, **tasks})
    wishes = (
        "Begin a tale about thing {i}, with a picture.",
        "Go on, with a picture.",
        "End it, with a picture.",
    )
    reference = "Once <<image1>> upon <<image2>> a time <<image3>>"
    turns, single = [], []
    for i in range(rows):
        messages = [{"role": "user", "content": wish.format(i=i)} for wish in wishes]
        turns.append({"id": f"t{i}", "input": messages, "reference": reference})
        single.append(
            {
                "id": f"s{i}",
                "input": f"Draw thing {i} and name it.",
                "reference": "Thing <<image1>>",
            }
        )
    write_rows(folder / "data", *turns, split="turns")
    write_rows(folder / "data", *single, split="single")
    return folder
