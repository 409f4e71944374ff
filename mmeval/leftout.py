"""Tasks that are left out of a run, because their data are not here: said before anything is asked, and in the tables.

A task that is named by itself is required: without its data there is no run. One that is named as a member of a group
is left out, as a metric without its weights is, and its group says of how many tasks its number is.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from mmeval.dataset import Dataset
from mmeval.errors import MissingDataError, sentence
from mmeval.names import counted
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
            kept.append(replace(task, dataset=_Opened(task.dataset())))
        except MissingDataError as error:
            if strict or task.name not in optional:
                raise
            missing.append(LeftOut(task.name, task.alias, task.version, str(error)))
    if not kept:
        raise MissingDataError(f"no task is left: {missing[0].name}: {missing[0].why}{_and_others(len(missing) - 1)}")
    for one in missing:
        _log.warning("%s is left out, its data are not here: %s", one.name, sentence(one.why))
    return replace(selection, tasks=tuple(kept), left_out=tuple(missing))


def _and_others(count: int) -> str:
    return f" (and {counted(count, 'other task')} likewise)" if count else ""


class _Opened:
    """A data set that was opened to see whether it is there, and is not opened again."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __call__(self) -> Dataset:
        return self._dataset
