"""Prints the prompt of each task's first sample, for ``--write_out``."""

from __future__ import annotations

from typing import TextIO

from mmeval.dataset.bad_sample import rows_of
from mmeval.system.wording import printable
from mmeval.task.task import Selection, Task

_MAX_LINE = 2000


def write_prompts(selection: Selection, out: TextIO) -> None:
    """Write each task's first prompt: roles, text, and a placeholder for each medium.
    Nothing is written for a task without a valid sample."""
    for task in selection:
        out.write(f"{first_prompt(task)}\n")


def first_prompt(task: Task) -> str:
    for sample in rows_of(task.dataset()):
        if task.selected(sample) and not sample.fault:
            break
    else:
        return f"--- {task.name}: no valid sample passes the task's filter"
    name = printable(sample.id, limit=_MAX_LINE)
    kinds = "+".join(task.output_kinds(sample))
    lines = [f"--- {task.name}, sample {name}, wants {kinds}"]
    for message in task.prompt(sample):
        lines.append(f"[{message.role}]")
        for line in message.content.rendered().splitlines():
            lines.append(printable(line, limit=_MAX_LINE))
    return "\n".join([*lines, "---"])
