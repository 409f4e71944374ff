"""What is unavailable to a run, found before anything is asked.

This is data, metrics, and backends that describe media. A task that is named by itself
is required: without its data there is no run. One that is named as a member of a group
is left out, and its group states of how many tasks its number is. A task whose filter
keeps no sample counts as one without data: the few bundled samples of a benchmark with
many domains, for example.
"""

from __future__ import annotations

import logging
import re
import shlex
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from mmeval.backend.contract import AnyBackend
from mmeval.backend.routes import TO_DESCRIBE
from mmeval.backend.sendable import can_take
from mmeval.content.media import MEDIA_KINDS
from mmeval.content.parts import PartKind
from mmeval.dataset.contract import Dataset
from mmeval.errors import Caught, MissingDataError, MissingError, sentence
from mmeval.installation import install_command
from mmeval.metric.bound import Need
from mmeval.program.role_variants import variant
from mmeval.results.groups import tasks_inside
from mmeval.task.derived_entries import has_unavailable_piece
from mmeval.task.task import FixedKinds, Selection, Task, UnavailableTask
from mmeval.wording import counted, either, of_several, some

_log = logging.getLogger(__name__)

MAX_NAMED = 3
"""Tasks without data that are named; a results file has each."""
_NAMED_TASK = re.compile(r"(?<=; run: mmeval prepare )\S+(?= --weights$)")
"""The task in the command that ends a reason, which differs where nothing else does."""


def with_data(selection: Selection, *, strict: bool) -> Selection:
    """The selection without members of groups whose data are missing. Raises
    MissingDataError where the data of a task are missing that is named by itself, where
    nothing would be left, and for any task when ``strict``."""
    members = {group.name: group.members for group in selection.groups}
    optional = {task for group in members for task in tasks_inside(group, members)}
    if not optional or len(selection.tasks) == 1:
        return selection
    kept: list[Task] = []
    missing: list[UnavailableTask] = []
    for task in selection.tasks:
        try:
            dataset = task.dataset()
            if task.name in optional:
                _check_any(task, dataset)
            kept.append(task)
        except MissingDataError as error:
            if strict or task.name not in optional:
                raise
            missing.append(
                UnavailableTask(task.name, task.alias, task.version, str(error))
            )
    if not kept:
        others = (
            f" (and {counted(len(missing) - 1, 'other task')} likewise)"
            if missing[1:]
            else ""
        )
        raise MissingDataError(
            f"no task is left: {missing[0].name}: {missing[0].why}{others}"
        )
    # of dozens of tasks the reasons differ in little but the names; a results file has
    # each
    if missing[1:]:
        names = some([one.name for one in missing], MAX_NAMED)
        first = sentence(missing[0].why)
        _log.warning(
            "%s tasks are left out, their data are not here: %s. The first: %s",
            f"{len(missing):,}",
            names,
            first,
        )
    elif missing:
        _log.warning(
            "%s is left out, its data are not here: %s",
            missing[0].name,
            sentence(missing[0].why),
        )
    return replace(selection, tasks=tuple(kept), left_out=tuple(missing))


def _check_any(task: Task, dataset: Dataset) -> None:
    """Raises MissingDataError where a filter keeps no sample though its labels exist,
    or where there is no sample. Reads up to the first one that it keeps."""
    lacking, among = set(task.filter), len(dataset)
    # an error of the loader is reported when it is the row's turn
    with Caught() as failure:
        for sample in dataset if task.filter else ():
            if task.selected(sample):
                return
            lacking -= sample.metadata.keys()
    if failure:
        return
    if task.filter and not (lacking and among):
        values = {
            label: value if isinstance(value, list) else [value]
            for label, value in task.filter.items()
        }
        wanted = " and ".join(
            f"{label} {either(map(str, value))}" for label, value in values.items()
        )
        raise MissingDataError(f"there is no sample of {wanted} among the {among:,}")


def say_unavailable(selection: Selection, *, strict: bool, tasks: str) -> None:
    """Warn of metrics that cannot be computed here, whole or in part: one line, however
    many they are. ``tasks`` are the words of a command line that name the selection.
    Raises MissingError for the first whole one when ``strict``; what the user has
    skipped is no fault."""
    lacking = list(unavailable_in(selection.tasks))
    if strict and lacking:
        raise MissingError(
            f"{sentence(str(lacking[0]))} Without --strict the run goes on, and "
            "mmeval score adds the metric later"
        )
    lines = [*map(str, lacking), *map(str, partial_in(selection.tasks))]
    found = list(remedies(selection, tasks))
    several = len(lines) > 1 and len(found) > 0
    if several:
        count = counted(
            len({name for one in lacking for name in one.metrics}), "metric"
        )
        needs = ", ".join(one.why() for one in found)
        _log.warning(
            "%s cannot be computed here: %s; mmeval doctor %s says more",
            count,
            needs,
            tasks,
        )
    for line in lines:
        _log.log(logging.DEBUG if several else logging.WARNING, "%s", line)


def task_words(settings: Mapping[str, Any], selection: Selection) -> str:
    """The tasks of a run as its command named them, for another command."""
    return words_for(settings, [task.name for task in selection.tasks])


def words_for(settings: Mapping[str, Any], tasks: Iterable[str]) -> str:
    """The tasks of a run as its settings name them, else by their own names."""
    words = list(map(str, settings.get("tasks") or tasks))
    for folder in settings.get("include_path", ()):
        words += ["--include_path", str(folder)]
    return shlex.join(words)


class Remedy(NamedTuple):
    """What would make some metrics available, those that need it, and the flag or
    command that supplies it."""

    what: str
    needing: tuple[Hashable, ...]
    how_to: str

    def why(self, unit: str = "") -> str:
        """``3 metrics need a judge``, or without the unit."""
        count = len(self.needing)
        return (
            f"{counted(count, unit) if unit else count} "
            f"need{'s' if count == 1 else ''} {self.what}"
        )

    def __str__(self) -> str:
        return f"{self.why('metric')}: {self.how_to}"


def remedies(selection: Selection, tasks: str) -> Iterator[Remedy]:
    """Each thing that unavailable metrics need; one that needs two things counts for
    both. ``tasks`` are the words of a command line that name the selection."""
    metrics = [metric for task in selection.tasks for metric in task.metrics]
    return remedies_of(((metric.bound.name, metric.needs) for metric in metrics), tasks)


def remedies_of(
    needing: Iterable[tuple[Hashable, Iterable[Need]]], tasks: str
) -> Iterator[Remedy]:
    """The remedies for whatever is given with its needs: metrics or numbers."""
    found: dict[str, dict[str, dict[Hashable, None]]] = {}
    for one, needs in needing:
        for kind, name in needs:
            found.setdefault(kind, {}).setdefault(name, {})[one] = None
    for role, ones in found.get("role", {}).items():
        if role in ("judge", "captioner"):
            yield Remedy(f"a {role}", tuple(ones), f"--{role} openai,model=NAME")
        else:
            usual = "sandbox" if role == "code_interpreter" else "openai,model=NAME"
            yield Remedy(f"the role {role}", tuple(ones), f"--role {role}={usual}")
    extras, packages = (sorted(found.get(kind, {})) for kind in ("extra", "package"))
    for kind, what, how_to in (
        ("extra", "an extra of mmeval", install_command(",".join(extras))),
        ("package", "other packages", f"pip install {shlex.join(packages)}"),
        ("model", "models that are not here", f"mmeval doctor {tasks}"),
    ):
        if of_kind := found.get(kind):
            yield Remedy(
                what,
                tuple(dict.fromkeys(chain.from_iterable(of_kind.values()))),
                how_to,
            )


class UnavailableMetrics(NamedTuple):
    """Metrics of some tasks that cannot be computed for one ``reason``.
    With ``pieces``, those that are made of other numbers and go without these."""

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    reason: str
    pieces: tuple[str, ...] = ()

    def __str__(self) -> str:
        metrics = (
            f"metrics {', '.join(self.metrics)} are"
            if len(self.metrics) > 1
            else f"metric {self.metrics[0]} is"
        )
        reason = (
            of_several(self.reason)
            if len(self.pieces or self.metrics) > 1
            else self.reason
        )
        what = (
            f"partial, without {', '.join(self.pieces)}"
            if self.pieces
            else "unavailable"
        )
        return f"{', '.join(self.tasks)}: the {metrics} {what}: {reason}"


def unavailable_in(tasks: Iterable[Task]) -> Iterator[UnavailableMetrics]:
    """The unavailable metrics of tasks by reason, in the order of the tasks. One that
    is made of another which is unavailable is left out: the reason is given with the
    piece."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for task in tasks:
        for metric in task.metrics:
            if metric.unavailable and not has_unavailable_piece(metric, task.metrics):
                word = _NAMED_TASK.search(metric.unavailable)
                entry = (task.name, metric.bound.name, word[0] if word else "")
                found.setdefault(_NAMED_TASK.sub("\0", metric.unavailable), []).append(
                    entry
                )
    for reason, entries in found.items():
        names, metrics, words = _columns(entries)
        yield UnavailableMetrics(names, metrics, reason.replace("\0", " ".join(words)))


def partial_in(tasks: Iterable[Task]) -> Iterator[UnavailableMetrics]:
    """Metrics that are made of only some of their pieces, by why others are missing. Of
    a metric of the task that is unavailable :func:`unavailable_in` gives the reason."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for task in tasks:
        lost = {
            output
            for one in task.metrics
            if one.unavailable
            for output in one.bound.metric.outputs
        }
        made = [(metric.bound.name, metric.without) for metric in task.metrics]
        made += [(number.name, number.without) for number in task.numbers]
        for name, without in made:
            for piece, reason in without.items():
                why = "it is unavailable" if piece in lost else reason
                found.setdefault(why, []).append((task.name, name, piece))
    for reason, entries in found.items():
        names, metrics, pieces = _columns(entries)
        yield UnavailableMetrics(names, metrics, reason, pieces)


def _columns(entries: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    return (tuple(dict.fromkeys(column)) for column in zip(*entries, strict=True))


class Undescribed(NamedTuple):
    """Kinds of media that no backend of a role accepts, for metrics of some tasks."""

    role: str
    kinds: tuple[PartKind, ...]
    metrics: tuple[str, ...]
    tasks: tuple[str, ...]

    @property
    def gap(self) -> str:
        """What is not taken, and what that costs."""
        kinds, metrics = ", ".join(self.kinds), ", ".join(self.metrics)
        return (
            f"the {self.role} takes no {kinds}, in no form: what holds one is not "
            f"scored by {metrics}"
        )

    @property
    def how_to_fix(self) -> str:
        flags = [f"--role {variant(self.role, kind)}=BACKEND" for kind in self.kinds]
        return f"add {' '.join(flags)}"

    def __str__(self) -> str:
        return f"{some(self.tasks, 1)}: {self.gap}; {self.how_to_fix}"


def undescribed(
    tasks: Iterable[Task], backends: Mapping[str, AnyBackend]
) -> Iterator[Undescribed]:
    """The kinds asked for that no backend accepts, once for tasks that lack the same.
    Where the data state for each sample what it asks for, that may be media of any
    kind."""
    found: dict[tuple[str, tuple[PartKind, ...]], tuple[list[str], list[str]]] = {}
    for task in tasks:
        wanted: Collection[str] = (
            task.wanted.kinds if isinstance(task.wanted, FixedKinds) else MEDIA_KINDS
        )
        for metric in task.metrics:
            for role in () if metric.unavailable else metric.bound.by_kind:
                players = {
                    kind: backends.get(variant(role, kind)) or backends.get(role)
                    for kind in MEDIA_KINDS
                }
                kinds: tuple[PartKind, ...] = tuple(
                    kind
                    for kind, player in players.items()
                    if kind in wanted
                    and not (
                        player and can_take(kind, TO_DESCRIBE, player.capabilities)
                    )
                )
                metrics, names = found.setdefault((role, kinds), ([], []))
                metrics.append(metric.bound.name)
                names.append(task.name)
    for (role, kinds), (metrics, names) in found.items():
        if kinds:
            yield Undescribed(
                role, kinds, tuple(dict.fromkeys(metrics)), tuple(dict.fromkeys(names))
            )
