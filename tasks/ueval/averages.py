"""Computes the averages in UEval's tables from the values of the questions.

The paper averages each side over the questions of a task, then the two sides of a task,
and then the eight tasks. All tasks have the same weight, whatever their sizes (*task
macro*). The released script prints the mean of each side over all questions instead
(*question micro*).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from mmeval.aggregate import known_mean

Row = Mapping[str, Any]
"""A question: its ``task``, and the shares of met criteria of its ``text`` and its
``image`` (None without criteria)."""


class SideMeans(TypedDict):
    """The means of several questions or tasks.

    A mean is None if none of these questions or tasks has a value.
    """

    text: float | None
    image: float | None
    score: float | None


class TaskAverages(SideMeans):
    """The means over tasks, the means for each task, and those over all questions."""

    tasks: dict[str, SideMeans]
    question_text: float | None
    question_image: float | None


def roll_up(rows: Sequence[Row]) -> TaskAverages:
    """Computes the averages of questions.

    The tasks are in the order of their first question. A question without a value on a
    side is left out of that side's means. A task without a value is left out of the
    means over tasks. The score of a task is the mean of its two sides, or the value of
    its only side.
    """
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(str(row["task"]), []).append(row)
    tasks: dict[str, SideMeans] = {}
    for name, questions in by_task.items():
        text = _mean(questions, "text")
        image = _mean(questions, "image")
        score = known_mean((image, text))
        tasks[name] = {"text": text, "image": image, "score": score}
    return {
        "tasks": tasks,
        **over_tasks(tasks.values()),
        "question_text": _mean(rows, "text"),
        "question_image": _mean(rows, "image"),
    }


def over_tasks(tasks: Collection[SideMeans]) -> SideMeans:
    """Computes the plain means over tasks.

    Each mean leaves out tasks without a value.
    """
    return {
        "text": _mean(tasks, "text"),
        "image": _mean(tasks, "image"),
        "score": _mean(tasks, "score"),
    }


def _mean(rows: Iterable[Mapping[str, Any]], side: str) -> float | None:
    return known_mean(row[side] for row in rows)
