"""The averages in UEval's tables, from the values of its questions.

The paper averages each side over the questions of a task, the two sides of a task, and
then the tasks: its eight count the same, whatever their sizes (*task macro*). The
released script prints the means of each side over all questions instead (*question
micro*).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from mmeval.aggregate import known_mean

Row = Mapping[str, Any]
"""A question: its ``task``, and the share of met criteria of its ``text`` and ``image``
(None: it has none there)."""


class Means(TypedDict):
    """The means of some questions or tasks; None where none has a value."""

    text: float | None
    image: float | None
    score: float | None


class Averages(Means):
    """The means over tasks, those of each task, and those over all questions."""

    tasks: dict[str, Means]
    question_text: float | None
    question_image: float | None


def roll_up(rows: Sequence[Row]) -> Averages:
    """The averages of questions; tasks in the order in which they first appear.

    A question without a value on a side is left out of that side's means, a task
    without one of the means over tasks. The score of a task is the mean of its two
    sides, or the one that it has.
    """
    by_task: dict[str, list[Row]] = {}
    for row in rows:
        by_task.setdefault(str(row["task"]), []).append(row)
    tasks: dict[str, Means] = {}
    for name, own in by_task.items():
        text = _mean(own, "text")
        image = _mean(own, "image")
        score = known_mean((image, text))
        tasks[name] = {"text": text, "image": image, "score": score}
    return {
        "tasks": tasks,
        **over_tasks(tasks.values()),
        "question_text": _mean(rows, "text"),
        "question_image": _mean(rows, "image"),
    }


def over_tasks(tasks: Collection[Means]) -> Means:
    """The plain means over tasks; a mean skips the tasks without a value."""
    return {
        "text": _mean(tasks, "text"),
        "image": _mean(tasks, "image"),
        "score": _mean(tasks, "score"),
    }


def _mean(rows: Iterable[Mapping[str, Any]], side: str) -> float | None:
    return known_mean(row[side] for row in rows)
