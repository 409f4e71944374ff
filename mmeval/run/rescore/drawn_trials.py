"""Limits the scoring of a run folder to a random draw of its answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mmeval.errors import UsageError
from mmeval.run.task_run import TaskRun
from mmeval.store.answer_draw import AnswerDraw, DrawnSamples
from mmeval.store.paths import TrialFilter
from mmeval.store.task_records import sample_rows

Places = Mapping[tuple[str, str], Collection[int]]
"""The indices of samples, by the names of task and sample."""


def draw_trials(
    draw: AnswerDraw,
    folder: Path,
    tasks: Sequence[TaskRun],
) -> dict[str, TrialFilter]:
    """Returns the filter of the drawn trials, for each task that a judge scores.

    The draw is kept in the folders of the score sets before a judge is asked. Raises
    UsageError if no task has a judge.
    """
    judged = [task for task in tasks if task.judged and task.scores is not None]
    if not judged:
        raise UsageError(
            "--sample limits the calls of a judge, but no metric asks a judge; leave "
            "it out"
        )
    places = places_of(folder, [task.task.name for task in judged])
    drawn = draw.of(places)
    filters = {}
    for task in judged:
        assert task.scores is not None
        drawn.keep(task.scores.folder, task.task.name)
        filters[task.task.name] = _filter(drawn, places, task.task.name)
    return filters


def places_of(folder: Path, tasks: Sequence[str]) -> Places:
    """Returns the recorded samples of some tasks of a run folder."""
    places: dict[tuple[str, str], set[int]] = {}
    for task in tasks:
        for index, sample in sample_rows(folder, task):
            places.setdefault((task, sample["id"]), set()).add(index)
    return places


def _filter(drawn: DrawnSamples, places: Places, task: str) -> TrialFilter:
    indices: set[int] = set()
    for name in drawn.samples:
        if name[0] == task:
            indices.update(places[name])
    return OfSamples(frozenset(indices))


@dataclass(frozen=True)
class OfSamples:
    """Accepts the trials of some samples. It can be sent to another process."""

    indices: frozenset[int]

    def __call__(self, index: int, _repeat: int) -> bool:
        return index in self.indices
