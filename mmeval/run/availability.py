"""What is unavailable to a run, found before anything is asked.

This is data, metrics, and backends that describe media. A task that is named by itself
is required: without its data there is no run. One that is named as a member of a group
is left out, and its group states of how many tasks its number is. A task whose filter
keeps no sample counts as one without data: the few bundled samples of a benchmark with
many domains, for example.
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
from mmeval.findings.render import NOWHERE, WIDTH, Place, terminal_lines
from mmeval.media.media import MEDIA_KINDS
from mmeval.media.parts import PartKind
from mmeval.program.role_variants import variant
from mmeval.results.groups import tasks_inside
from mmeval.task.task import FixedKinds, Group, Selection, Task, UnavailableTask

_log = logging.getLogger(__name__)


def with_data(
    selection: Selection, *, strict: bool, place: Place = NOWHERE
) -> Selection:
    """The selection without members of groups whose data are missing. Raises
    MissingDataError where the data of a task are missing that is named by itself, where
    nothing would be left, and for any task when ``strict``."""
    optional = optional_tasks(selection.groups)
    if not optional or len(selection.tasks) == 1:
        return selection
    kept: list[Task] = []
    missing: list[UnavailableTask] = []
    for task in selection.tasks:
        try:
            dataset = task.dataset()
            if task.name in optional:
                check_any(task, dataset)
            kept.append(task)
        except MissingDataError as error:
            if strict or task.name not in optional:
                raise
            finding = finding_of(error, Subject(task.name), "warning")
            missing.append(
                UnavailableTask(task.name, task.alias, task.version, finding)
            )
    if not kept:
        lines = terminal_lines((one.finding for one in missing), place)
        raise MissingDataError("\n".join(["no task has its data:", *lines]))
    return replace(selection, tasks=tuple(kept), left_out=tuple(missing))


def optional_tasks(groups: Iterable[Group]) -> set[str]:
    """The tasks that a run of several leaves out where their data are missing: the
    members of groups."""
    members = {group.name: group.members for group in groups}
    return {task for group in members for task in tasks_inside(group, members)}


def check_any(task: Task, dataset: Dataset) -> None:
    """Raises MissingDataError where a filter keeps no sample though its labels exist,
    or where there is no sample. Reads up to the first one that it keeps."""
    unseen_labels, rows = set(task.filter), len(dataset)
    for sample in readable(rows_of(dataset) if task.filter else ()):
        # a fault is reported when its row is read
        if isinstance(sample, LoaderFailure) or sample.fault:
            return
        if task.selected(sample):
            return
        unseen_labels -= sample.metadata.keys()
    if task.filter and not (unseen_labels and rows):
        wanted = []
        for label, value in task.filter.items():
            values = value if isinstance(value, list) else [value]
            wanted.append(f"{label} {' or '.join(map(str, values))}")
        raise MissingDataError(
            f"none of the {rows:,} samples has {' and '.join(wanted)}"
        )


def unavailable_findings(
    selection: Selection, *, scoring: bool = True
) -> Iterator[Finding]:
    """What cannot be computed here, whole or in part: tasks without data, then metrics
    and the numbers that are made of them, where a run scores."""
    for left_out in selection.left_out:
        yield left_out.finding
    if not scoring:
        return
    for task in selection.tasks:
        for number in task.given:
            for finding in (*number.lacks, *_partial(number.without)):
                subject = replace(finding.subject, task=task.name)
                yield replace(finding, subject=subject)


def _partial(without: Mapping[str, Finding]) -> Iterator[Finding]:
    """The pieces that a number is made without: those that are unavailable together,
    then each that was skipped."""
    unavailable = [piece for piece, found in without.items() if not found.remedy]
    for piece in unavailable[:1]:
        cause = f"without {', '.join(unavailable)}"
        yield replace(without[piece], cause=cause)
    yield from (found for found in without.values() if found.remedy)


def report_unavailable(
    selection: Selection, *, strict: bool, place: Place, scoring: bool = True
) -> None:
    """Warn of what cannot be computed here, with what adds it. Raises MissingError for
    a metric when ``strict``; what the user has skipped is not an error."""
    found = list(unavailable_findings(selection, scoring=scoring))
    missing = [finding for finding in found if finding.kind != "partial"]
    if strict and missing:
        lines = terminal_lines(missing, place)
        raise MissingError("\n".join(["--strict, and something is missing:", *lines]))
    log_findings("not everything can be computed here:", found, place)


def log_findings(
    title: str,
    findings: Iterable[Finding],
    place: Place = NOWHERE,
    *,
    width: int = WIDTH,
    level: int = logging.WARNING,
) -> None:
    """One record of the log: a line for each group of findings, and its remedy."""
    lines = terminal_lines(findings, place, width)
    if lines:
        _log.log(level, "%s", "\n".join([title, *lines]))


def task_words(settings: Mapping[str, Any], selection: Selection) -> str:
    """The tasks of a run as its command named them, for another command."""
    return words_for(settings, [task.name for task in selection.tasks])


def words_for(settings: Mapping[str, Any], tasks: Iterable[str]) -> str:
    """The tasks of a run as its settings name them, else by their own names."""
    words = list(map(str, settings.get("tasks") or tasks))
    for folder in settings.get("include_path", ()):
        words += ["--include_path", str(folder)]
    return shlex.join(words)


def undescribed_media(
    tasks: Iterable[Task], backends: Mapping[str, AnyBackend]
) -> Iterator[Finding]:
    """The kinds of media that a metric has described, and no backend accepts. Where the
    data state for each sample what it asks for, that may be media of any kind."""
    for task in tasks:
        wanted: Collection[str] = MEDIA_KINDS
        if isinstance(task.wanted, FixedKinds):
            wanted = task.wanted.kinds
        for metric in task.metrics:
            if metric.lacks:
                continue
            for role in metric.bound.by_kind:
                kinds = _not_taken(role, wanted, backends)
                if kinds:
                    flags = [f"--role {variant(role, kind)}=BACKEND" for kind in kinds]
                    yield Finding(
                        "unsupported",
                        Subject(task.name, metric.bound.name, role),
                        cause=f"the {role} does not take {', '.join(kinds)}",
                        remedy=" ".join(flags),
                    )


def _not_taken(
    role: str, wanted: Collection[str], backends: Mapping[str, AnyBackend]
) -> list[PartKind]:
    kinds: list[PartKind] = []
    for kind in MEDIA_KINDS:
        player = backends.get(variant(role, kind)) or backends.get(role)
        takes = player and can_take(kind, TO_DESCRIBE, player.capabilities)
        if kind in wanted and not takes:
            kinds.append(kind)
    return kinds
