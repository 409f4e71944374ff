"""Tasks that are left out of a run, because their data are not here: said before anything is asked, and in the tables.

A task that is named by itself is required: without its data there is no run. One that is named as a member of a group
is left out, as a metric without its weights is, and its group says of how many tasks its number is. Data in which a
task's filter keeps nothing are none of its own: the few bundled samples of a benchmark with many domains, say.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from mmeval.dataset import Dataset
from mmeval.errors import Caught, MissingDataError, sentence
from mmeval.names import counted, either
from mmeval.report.grouping import tasks_inside
from mmeval.task import LeftOut, Selection, Task

_log = logging.getLogger(__name__)


def with_data(selection: Selection, *, strict: bool) -> Selection:
    """The selection without those members of its groups whose data are not here; the data of the others are open.

    Raises MissingDataError where the data of a task are missing that is named by itself, where nothing would be left,
    and for any task when ``strict``.
    """
    members = {group.name: group.members for group in selection.groups}
    optional = {task for group in members for task in tasks_inside(group, members)}
    if not optional or len(selection.tasks) == 1:
        return selection
    kept: list[Task] = []
    missing: list[LeftOut] = []
    for task in selection.tasks:
        try:
            dataset = task.dataset()
            if task.name in optional:
                _check_any(task, dataset)
            kept.append(replace(task, dataset=OpenedData(task.dataset, dataset)))
        except MissingDataError as error:
            if strict or task.name not in optional:
                raise
            missing.append(LeftOut(task.name, task.alias, task.version, str(error)))
    if not kept:
        raise MissingDataError(f"no task is left: {missing[0].name}: {missing[0].why}{_and_others(len(missing) - 1)}")
    if missing:
        _log.warning("%s", _said(missing))
    return replace(selection, tasks=tuple(kept), left_out=tuple(missing))


def _check_any(task: Task, dataset: Dataset) -> None:
    """Raises MissingDataError where a task's filter keeps none of the samples, though they have its labels, and where
    it has none to look at. Reads up to the first one that it keeps."""
    lacking, among = set(task.filter), len(dataset)
    with Caught() as failure:  # of the loader, which is told when it is the row's turn
        for sample in dataset if task.filter else ():
            if task.selected(sample):
                return
            lacking -= sample.metadata.keys()
    if failure:
        return
    if task.filter and not (lacking and among):
        wanted = " and ".join(f"{label} {either(_words(value))}" for label, value in task.filter.items())
        raise MissingDataError(f"there is no sample of {wanted} among the {among:,}")


def _words(wanted: Any) -> list[str]:
    return [str(one) for one in (wanted if isinstance(wanted, list) else [wanted])]


def _said(missing: Sequence[LeftOut]) -> str:
    """What is left out, in one message: of dozens of tasks the reasons differ in little but the names. A results file
    has the reason of each."""
    first, *others = missing
    if not others:
        return f"{first.name} is left out, its data are not here: {sentence(first.why)}"
    names = ", ".join(one.name for one in missing)
    return f"{len(missing):,} tasks are left out, their data are not here: {names}. The first: {sentence(first.why)}"


def _and_others(count: int) -> str:
    return f" (and {counted(count, 'other task')} likewise)" if count else ""


class OpenedData:
    """A data set that was opened to see whether it is there, and is not opened again. ``source`` is what opened it."""

    def __init__(self, source: Callable[[], Dataset], dataset: Dataset) -> None:
        self.source = source
        self._dataset = dataset

    def __call__(self) -> Dataset:
        return self._dataset
