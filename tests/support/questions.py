"""Tasks of plain questions for tests from outside: which numbers are asked, how often, with which keys."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.support.cli import QUIET

_TASK = (
    "task: {name}\nloader: interleaved\ndataset_path: {name}_data\noutput_modalities: [text]\n"
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


def write_questions(folder: Path, name: str, numbers: Iterable[int], more: str = "") -> Path:
    """A task that asks ``question N`` for each number; ``more`` are further lines of its file. Returns the folder."""
    rows = ({"id": str(n), "input": f"question {n}", "reference": f"answer {n}"} for n in numbers)
    return write_task(folder, name, rows, more=more)


def write_task(folder: Path, name: str, rows: Iterable[Mapping[str, Any]], more: str = "") -> Path:
    """A task of given rows."""
    data = folder / f"{name}_data"
    data.mkdir(parents=True, exist_ok=True)
    (data / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / f"{name}.yaml").write_text(_TASK.format(name=name) + more)
    return folder
