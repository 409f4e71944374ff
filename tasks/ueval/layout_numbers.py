"""Computes the means over questions that UEval's released script prints, and counts
doubts of judges and pictures for the table behind the numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mmeval.aggregate import known_mean
from mmeval.metrics.judged.ueval.replies import REMARKS
from mmeval.metrics.judged.ueval.rows import TASKS
from mmeval.metrics.judged.ueval.ueval_rubric import OUTPUTS
from mmeval.results import NumberKey, TableNumber, counted_by, result_of

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

NAMES = frozenset(f"ueval_{name}" for name in TASKS)
QUESTIONS = "questions"
"""The slice of the means over the questions of all tasks."""


def question_means(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the mean of each side over all questions, as the released script does.

    If the value of a task is lost, its other questions are not a fair sample.
    """
    for output in OUTPUTS:
        values: list[float | None] = []
        is_lost = False
        tasks = [task for task in run.tasks if task.name in NAMES]
        for task in tasks:
            result = result_of(run, task, output)
            is_lost |= result is None
            if result is not None and result.value is None:
                is_lost |= not result.has_nothing_to_score
            for row in _rows(run, task):
                values.append(row["scores"].get(output, {}).get("value"))
        key = NumberKey("ueval", output, QUESTIONS)
        mean = known_mean(values)
        if is_lost:
            yield TableNumber(key, None, "lost", "the number of a task is lost")
        elif mean is not None:
            yield TableNumber(key, mean)


def _rows(run: StoredRun, task: StoredTask) -> Iterator[Mapping[str, Any]]:
    """Yields the score rows of the counted answers of a task."""
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    for row in task.score_rows():
        if row["status"] == "ok" and is_counted(row["i"], row["n"]):
            yield row


def judge_facts(run: StoredRun) -> Mapping[str, str]:
    """Returns the share of judged criteria about which the judge is not sure (they
    count as not met), unread replies, and the mean number of pictures of an answer."""
    counts: Counter[str] = Counter()
    pictures: list[float] = []
    for task in run.tasks:
        for row in _rows(run, task) if task.name in NAMES else ():
            for output in OUTPUTS:
                evidence = row["scores"].get(output, {}).get("evidence", {})
                for remark in REMARKS:
                    counts[remark] += evidence.get(remark, 0)
                for criterion in evidence.get("criteria", ()):
                    counts["judged"] += "raw" in criterion
                if "pictures" in evidence:
                    pictures.append(evidence["pictures"])
    facts = {}
    if counts["judged"]:
        facts["Not sure"] = f"{counts['not_sure'] / counts['judged']:.1%}"
    unread = counts["odd_value"] + counts["missing_key"]
    if unread:
        facts["Neither yes nor no"] = f"{unread:,}"
    mean = known_mean(pictures)
    if mean is not None:
        facts["Pictures"] = f"{mean:.1f}"
    return facts
