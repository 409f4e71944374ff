"""Numbers that are of nothing: no answer of a task held anything for the metric, which is said, and is no failure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path

from mmeval.records.score import Result, is_of_nothing
from mmeval.run.task_run import TaskRun
from mmeval.scoring.score_set import finished_rows

Wanted = Callable[[int, int], bool]
"""Whether the trial of a sample's place and a repeat is one of the run's."""


def nothing_to_score(runs: Sequence[TaskRun], wanted: Sequence[Wanted], results: Iterable[Result]) -> Iterator[str]:
    """One line for each number that has nothing to score, with the reason that its metric gives and the tasks in which
    it is so. Of a task's rows only those up to the first reason are read."""
    numbers: dict[str, list[str]] = {}
    for result in results:
        if not result.slice and is_of_nothing(result):
            numbers.setdefault(result.task, []).append(result.metric)
    told: dict[tuple[str, str], list[str]] = {}
    for run, chosen in zip(runs, wanted, strict=True):
        names = numbers.get(run.task.name, ())
        if run.scores is not None and names:
            for name, reason in _reasons(run.scores.folder, chosen, names):
                told.setdefault((name, reason), []).append(run.task.name)
    for (name, reason), tasks in told.items():
        yield f"{', '.join(tasks)}: nothing to score by {name} (of every answer: {reason})"


def _reasons(folder: Path, wanted: Wanted, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """The first reason of each number."""
    left = dict.fromkeys(names)
    for row in finished_rows(folder, wanted):
        for name in list(left):
            if score := row["scores"].get(name):
                yield name, str(score.get("reason", ""))
                del left[name]
        if not left:
            return
