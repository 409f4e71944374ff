"""Determines unavailable data, metrics and backends before any call is sent.

A task that is requested by name is required. Without its data the run fails. A member
of a group is left out instead, and the group states the number of its tasks. A task
whose filter keeps no sample is treated as a task without data. Such a filter is common
with the few bundled samples of a benchmark with many domains.
"""

from __future__ import annotations

import logging
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmeval.backend.contract import AnyBackend
from mmeval.backend.routes import TO_DESCRIBE
from mmeval.backend.sendable import can_take
from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import Dataset
from mmeval.dataset.readable import LoaderFailure, readable
from mmeval.errors import MissingDataError, MissingError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.findings.render import NOWHERE, WIDTH, RemedyTarget, terminal_lines
from mmeval.media.media import MEDIA_KINDS
from mmeval.media.parts import PartKind
from mmeval.program.role_variants import variant
from mmeval.results.groups import tasks_inside
from mmeval.task.task import FixedKinds, Group, Selection, Task, UnavailableTask

_log = logging.getLogger(__name__)


def with_data(
    selection: Selection, *, strict: bool, place: RemedyTarget = NOWHERE
) -> Selection:
    """Returns the selection without group members whose data are missing.

    Raises MissingDataError if the data of a task that is requested by name are missing,
    or if no task would be left. With ``strict``, no data may be missing.
    """
    optional = optional_tasks(selection.groups)
    if not optional or len(selection.tasks) == 1:
        return selection
    available: list[Task] = []
    missing: list[UnavailableTask] = []
    for task in selection.tasks:
        try:
            dataset = task.dataset()
            if task.name in optional:
                check_any(task, dataset)
            available.append(task)
        except MissingDataError as error:
            if strict or task.name not in optional:
                raise
            finding = finding_of(error, Subject(task.name), "warning")
            missing.append(
                UnavailableTask(task.name, task.alias, task.version, finding)
            )
    if not available:
        lines = terminal_lines((task.finding for task in missing), place)
        raise MissingDataError(
            "\n".join(["the data of all tasks are missing:", *lines])
        )
    return replace(selection, tasks=tuple(available), left_out=tuple(missing))


def optional_tasks(groups: Iterable[Group]) -> set[str]:
    """Returns the tasks that a run leaves out if their data are missing.

    Only members of groups may be left out.
    """
    members = {group.name: group.members for group in groups}
    return {task for group in members for task in tasks_inside(group, members)}


def check_any(task: Task, dataset: Dataset) -> None:
    """Raises MissingDataError if a task has no samples, or if its filter keeps none.

    A filter with labels that do not exist in the data is reported elsewhere. The data
    are read up to the first sample that the filter keeps.
    """
    unseen_labels, rows = set(task.filter), len(dataset)
    for sample in readable(rows_of(dataset) if task.filter else ()):
        # a fault is reported when its row is read
        if isinstance(sample, LoaderFailure) or sample.fault:
            return
        if task.selected(sample):
            return
        unseen_labels -= sample.metadata.keys()
    if task.filter and not (unseen_labels and rows):
        conditions = []
        for label, value in task.filter.items():
            values = value if isinstance(value, list) else [value]
            conditions.append(f"{label} {' or '.join(map(str, values))}")
        raise MissingDataError(
            f"none of the {rows:,} samples has {' and '.join(conditions)}"
        )


def unavailable_findings(
    selection: Selection, *, scoring: bool = True
) -> Iterator[Finding]:
    """Yields findings for tasks without data, and for numbers that cannot be computed.

    Such a number belongs to a metric, or is derived from metrics, and is unavailable or
    lacks pieces. Without ``scoring``, only tasks without data are reported.
    """
    for left_out in selection.left_out:
        yield left_out.finding
    if not scoring:
        return
    for task in selection.tasks:
        for number in task.entries:
            for finding in (*number.lacks, *_partial(number.without)):
                subject = replace(finding.subject, task=task.name)
                yield replace(finding, subject=subject)


def _partial(without: Mapping[str, Finding]) -> Iterator[Finding]:
    """Yields findings for the missing pieces of a number.

    All unavailable pieces share one finding, and each skipped piece has its own.
    """
    unavailable = [piece for piece, finding in without.items() if not finding.remedy]
    for piece in unavailable[:1]:
        cause = f"without {', '.join(unavailable)}"
        yield replace(without[piece], cause=cause)
    yield from (finding for finding in without.values() if finding.remedy)


def report_unavailable(
    selection: Selection, *, strict: bool, place: RemedyTarget, scoring: bool = True
) -> None:
    """Logs what cannot be computed, with remedies.

    With ``strict``, raises MissingError unless only pieces that the user skipped are
    missing.
    """
    findings = list(unavailable_findings(selection, scoring=scoring))
    missing = [finding for finding in findings if finding.kind != "partial"]
    if strict and missing:
        lines = terminal_lines(missing, place)
        raise MissingError(
            "\n".join(["these are missing, but --strict requires them:", *lines])
        )
    log_findings("some numbers cannot be computed:", findings, place)


def log_findings(
    title: str,
    findings: Iterable[Finding],
    place: RemedyTarget = NOWHERE,
    *,
    width: int = WIDTH,
    level: int = logging.WARNING,
) -> None:
    """Logs one record, with a line for each group of findings and its remedy."""
    lines = terminal_lines(findings, place, width)
    if lines:
        _log.log(level, "%s", "\n".join([title, *lines]))


def task_words(settings: Mapping[str, Any], selection: Selection) -> str:
    """Returns the tasks of a run as arguments of a command."""
    return words_for(settings, [task.name for task in selection.tasks])


def words_for(settings: Mapping[str, Any], tasks: Iterable[str]) -> str:
    """Returns the tasks as the run's settings name them, or else ``tasks``."""
    words = list(map(str, settings.get("tasks") or tasks))
    for folder in settings.get("include_path", ()):
        words += ["--include_path", str(folder)]
    return shlex.join(words)


def undescribed_media(
    tasks: Iterable[Task], backends: Mapping[str, AnyBackend]
) -> Iterator[Finding]:
    """Yields findings for media that must be described but that no backend accepts.

    If the data state the output kinds of each sample, all kinds are checked.
    """
    for task in tasks:
        requested: Collection[str] = MEDIA_KINDS
        if isinstance(task.output_kinds, FixedKinds):
            requested = task.output_kinds.kinds
        for metric in task.metrics:
            if metric.lacks:
                continue
            for role in metric.bound.by_kind:
                kinds = _unsupported_kinds(role, requested, backends)
                if kinds:
                    flags = [f"--role {variant(role, kind)}=BACKEND" for kind in kinds]
                    yield Finding(
                        "unsupported",
                        Subject(task.name, metric.bound.name, role),
                        cause=f"the {role} does not take {', '.join(kinds)}",
                        remedy=" ".join(flags),
                    )


def _unsupported_kinds(
    role: str, requested: Collection[str], backends: Mapping[str, AnyBackend]
) -> list[PartKind]:
    kinds: list[PartKind] = []
    for kind in MEDIA_KINDS:
        backend = backends.get(variant(role, kind)) or backends.get(role)
        is_supported = backend and can_take(kind, TO_DESCRIBE, backend.capabilities)
        if kind in requested and not is_supported:
            kinds.append(kind)
    return kinds
