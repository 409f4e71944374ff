"""Tasks that are left out of a run, because their data are not here: said before anything is asked, and in the tables.

A task that is named by itself is required: without its data there is no run. One that is named as a member of a group
is left out, as a metric without its weights is, and its group says of how many tasks its number is. Data in which a
task's filter keeps nothing are none of its own: the few bundled samples of a benchmark with many domains, say.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from mmeval.backend.contract import AnyBackend
from mmeval.backend.routes import TO_DESCRIBE
from mmeval.backend.sendable import can_take
from mmeval.content.media import MEDIA_KINDS
from mmeval.content.parts import PartKind
from mmeval.dataset.contract import Dataset
from mmeval.errors import MissingDataError, sentence
from mmeval.program.role_variants import variant
from mmeval.results.groups import tasks_inside
from mmeval.task.derived_entries import lacks_a_piece
from mmeval.task.task import FixedKinds, LeftOut, Selection, Task
from mmeval.wording import counted, either, of_several

_WAY = re.compile(r"(?<=; run: mmeval prepare )\S+(?= --weights$)")
"""The task in the command that ends a reason, which differs where nothing else does."""

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
    try:
        for sample in dataset if task.filter else ():
            if task.selected(sample):
                return
            lacking -= sample.metadata.keys()
    except Exception:  # a loader may fail in any way, which is told when it is the row's turn
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


class Lacking(NamedTuple):
    """Metrics of some tasks that cannot be computed, for one ``reason``, with what changes it."""

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        several = len(self.metrics) > 1
        said = "metrics {} are" if several else "metric {} is"
        metrics = said.format(", ".join(self.metrics))
        reason = of_several(self.reason) if several else self.reason
        return f"{', '.join(self.tasks)}: the {metrics} unavailable: {reason}"


class Partial(NamedTuple):
    """Metrics of some tasks that are made of other numbers and go without some of these ``pieces``, for one
    ``reason``."""

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    pieces: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        said = "metrics {} are" if len(self.metrics) > 1 else "metric {} is"
        metrics = said.format(", ".join(self.metrics))
        reason = of_several(self.reason) if len(self.pieces) > 1 else self.reason
        return f"{', '.join(self.tasks)}: the {metrics} partial, without {', '.join(self.pieces)}: {reason}"


def partial_in(tasks: Iterable[Task]) -> Iterator[Partial]:
    """The metrics of tasks that are made of what there is of their pieces, by why some are not there. Of a metric of
    the task that is unavailable :func:`lacking_in` tells why."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for task in tasks:
        told = {output for one in task.metrics if one.unavailable for output in one.bound.metric.outputs}
        for metric in task.metrics:
            for piece, reason in metric.without.items():
                why = "it is unavailable" if piece in told else reason
                found.setdefault(why, []).append((task.name, metric.bound.name, piece))
    for reason, entries in found.items():
        names, metrics, pieces = (tuple(dict.fromkeys(column)) for column in zip(*entries, strict=True))
        yield Partial(names, metrics, pieces, reason)


def lacking_in(tasks: Iterable[Task]) -> Iterator[Lacking]:
    """The metrics of tasks that are unavailable, by reason, in the order of the tasks. One that is made of another
    which is unavailable is not told: that is said of the piece."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for task in tasks:
        for metric in task.metrics:
            if metric.unavailable and not lacks_a_piece(metric, task.metrics):
                word = _WAY.search(metric.unavailable)
                entry = (task.name, metric.bound.name, word[0] if word else "")
                found.setdefault(_WAY.sub("\0", metric.unavailable), []).append(entry)
    for reason, entries in found.items():
        names, metrics, words = (tuple(dict.fromkeys(column)) for column in zip(*entries, strict=True))
        yield Lacking(names, metrics, reason.replace("\0", " ".join(words)))


class Undescribed(NamedTuple):
    """Kinds of media that the one who plays a role by kind does not take, for some metrics of some tasks."""

    role: str
    kinds: tuple[PartKind, ...]
    metrics: tuple[str, ...]
    tasks: tuple[str, ...]

    @property
    def gap(self) -> str:
        """What is not taken, and what that costs."""
        kinds, metrics = ", ".join(self.kinds), ", ".join(self.metrics)
        return f"the {self.role} takes no {kinds}, in no form: what holds one is not scored by {metrics}"

    @property
    def way_out(self) -> str:
        return f"add {' '.join(f'--role {variant(self.role, kind)}=BACKEND' for kind in self.kinds)}"

    def __str__(self) -> str:
        more = f" and {len(self.tasks) - 1} more" if len(self.tasks) > 1 else ""
        return f"{self.tasks[0]}{more}: {self.gap}; {self.way_out}"


def undescribed(tasks: Iterable[Task], backends: Mapping[str, AnyBackend]) -> Iterator[Undescribed]:
    """What the tasks may ask for and nobody takes, told once for all tasks that lack the same. Where the data say for
    each sample what it asks for, that may be media of any kind."""
    found: dict[tuple[str, tuple[PartKind, ...]], tuple[list[str], list[str]]] = {}
    for task in tasks:
        wanted: Collection[str] = task.wanted.kinds if isinstance(task.wanted, FixedKinds) else MEDIA_KINDS
        for metric in task.metrics:
            for role in () if metric.unavailable else metric.bound.by_kind:
                lacking = (kind for kind in MEDIA_KINDS if kind in wanted and not _is_taken(role, kind, backends))
                kinds: tuple[PartKind, ...] = tuple(lacking)
                metrics, names = found.setdefault((role, kinds), ([], []))
                metrics.append(metric.bound.name)
                names.append(task.name)
    for (role, kinds), (metrics, names) in found.items():
        if kinds:
            yield Undescribed(role, kinds, tuple(dict.fromkeys(metrics)), tuple(dict.fromkeys(names)))


def _is_taken(role: str, kind: PartKind, backends: Mapping[str, AnyBackend]) -> bool:
    player = backends.get(variant(role, kind)) or backends.get(role)
    return player is not None and can_take(kind, TO_DESCRIBE, player.capabilities)
