"""Replies of judges that could not be read and count all the same, as a release has it: the run says how many."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.judge.verdict import UNREAD
from mmeval.run.task_run import TaskRun
from mmeval.scoring.score_set import finished_rows

COUNTED: Mapping[tuple[str, str], str] = {
    ("lost", "wrong"): "wrong",
    ("judge_failure", "lowest"): "the lowest grade",
    ("rubric", "dimensions"): "the end of the scale, or the middle where they give no number",
    ("rubric", "overall"): "the end of the scale",
}
"""What such replies count as, by the switch that makes them count and its value."""


def unread_complaints(
    runs: Sequence[TaskRun], wanted: Sequence[Callable[[int, int], bool]], folder: Path
) -> Iterator[str]:
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
