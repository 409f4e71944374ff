"""Replies of judges that could not be read and count all the same, as a release has it: the run says how many."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.errors import told
from mmeval.judge.verdict import UNREAD
from mmeval.records.score import Result, is_of_nothing
from mmeval.run.jobs import DataFault
from mmeval.run.task_run import TaskRun
from mmeval.scoring.score_set import finished_rows
from mmeval.store.paths import Wanted
from mmeval.wording import counted

COUNTED: Mapping[tuple[str, str], str] = {
    ("lost", "wrong"): "wrong",
    ("judge_failure", "lowest"): "the lowest grade",
    ("rubric", "dimensions"): "the end of the scale, or the middle where they give no number",
    ("rubric", "overall"): "the end of the scale",
}
"""What such replies count as, by the switch that makes them count and its value."""


def unread_complaints(runs: Sequence[TaskRun], wanted: Sequence[Wanted], folder: Path) -> Iterator[str]:
    """A line for all tasks, from the evidence of their scores (``mmeval.judge.verdict.UNREAD``); one for each switch
    that makes such replies count. Rows are read only where a metric has it."""
    for (switch, value), worth in COUNTED.items():
        found: dict[str, int] = {}
        for run, chosen in zip(runs, wanted, strict=True):
            counting = [metric.bound for metric in run.task.metrics if metric.bound.params.get(switch) == value]
            names = [name for bound in counting for name in bound.metric.outputs]
            if run.scores is not None and names:
                rows = finished_rows(run.scores.folder, chosen)
                found[run.task.name] = sum(_unread(row["scores"].get(name)) for row in rows for name in names)
        if total := sum(found.values()):
            counts = (f"{name} {count:,}" for name, count in found.items() if count)
            yield (
                f"{total:,} {'reply' if total == 1 else 'replies'} of the judge could not be read and "
                f"{'counts' if total == 1 else 'count'} as {worth}, as {switch}: {value} (profile official) has it: "
                f"{', '.join(counts)}; the judge's words are in {folder / 'scores'}"
            )


def _unread(said: Any) -> int:
    """What evidence of JSON says, with all that it holds."""
    if isinstance(said, dict):
        own = said.get(UNREAD)
        return (own if isinstance(own, int) else 0) + sum(map(_unread, said.values()))
    return sum(map(_unread, said)) if isinstance(said, list) else 0


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


def code_of_faults(faults: Mapping[str, DataFault], otherwise: int) -> int:
    """The code of a run: that of the first fault, and without one ``otherwise``."""
    return next((fault.exit_code for fault in faults.values()), otherwise)


def fault_complaints(faults: Mapping[str, DataFault], *, again: str) -> Iterator[str]:
    """Each fault with the way out; ``again`` is what makes the rest."""
    for task, fault in faults.items():
        yield (
            f"the data of {task} cannot be read on after {counted(fault.made, 'trial')}: {told(fault.error)}; "
            f"correct that, then {again} asks the rest, and what is answered is kept"
        )
