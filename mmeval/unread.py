"""Replies of judges that could not be read and count as wrong, as a release has it: the run says how many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mmeval.boundmetric import BoundMetric
from mmeval.judge import UNREAD
from mmeval.scoreset import finished_rows
from mmeval.taskrun import TaskRun


def unread_complaints(
    runs: Sequence[TaskRun], wanted: Sequence[Callable[[int, int], bool]], folder: Path
) -> Iterator[str]:
    """One line for all tasks, from the evidence of their scores (``mmeval.judge.UNREAD``). Rows are read only where a
    metric counts such replies, which its switch ``lost: wrong`` says."""
    found: dict[str, int] = {}
    for run, chosen in zip(runs, wanted, strict=True):
        names = [name for metric in run.task.metrics if _counts(metric.bound) for name in metric.bound.metric.outputs]
        if run.scores is not None and names:
            rows = finished_rows(run.scores.folder, chosen)
            found[run.task.name] = sum(_unread(row["scores"].get(name)) for row in rows for name in names)
    if total := sum(found.values()):
        counts = (f"{name} {count:,}" for name, count in found.items() if count)
        yield (
            f"{total:,} {'reply' if total == 1 else 'replies'} of the judge could not be read and "
            f"{'counts' if total == 1 else 'count'} as wrong, as lost: wrong (profile official) has it: "
            f"{', '.join(counts)}; the judge's words are in {folder / 'scores'}"
        )


def _counts(bound: BoundMetric) -> bool:
    return bound.params.get("lost") == "wrong"


def _unread(said: Any) -> int:
    """What evidence of JSON says, with all that it holds."""
    if isinstance(said, dict):
        own = said.get(UNREAD)
        return (own if isinstance(own, int) else 0) + sum(map(_unread, said.values()))
    return sum(map(_unread, said)) if isinstance(said, list) else 0
