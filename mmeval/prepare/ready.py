"""Readiness of tasks: whether their data are complete and their weights present."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mmeval.content.media import path_inside
from mmeval.dataset.hub import OutOfReachError
from mmeval.decode.check import MediaLook
from mmeval.errors import EXIT_OK, Caught, MissingDataError, MmevalError
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.findings.from_error import PREPARE_DATA, finding_of
from mmeval.metric.bound import PREPARE_WEIGHTS
from mmeval.prepare.checks import Counts, count, damaged, unexpected, wrong_files
from mmeval.prepare.sizes import Measured
from mmeval.prepare.sources import Source, WantedTask, data_source, unpinned
from mmeval.task.file import TaskFile

States = Mapping[Source, Measured | MmevalError]
"""The listing of each source, or the error of the hub."""


@dataclass(frozen=True)
class DataCheck:
    """What is wrong with a task's data, and what they hold where they can be read."""

    task: str
    findings: tuple[Finding, ...]
    counts: Counts | None = None

    @property
    def ready(self) -> bool:
        return exit_code(self.findings) == EXIT_OK


class _DataSet(NamedTuple):
    """The data that several tasks may share."""

    loader: str
    folder: Path
    name: str
    split: str
    options: str


def check_data(
    tasks: Sequence[WantedTask],
    states: States,
    *,
    weights: bool,
    look: MediaLook | None = None,
) -> Iterator[DataCheck]:
    """Check each task. Missing weights are an error if ``weights`` were wanted.

    Data that several tasks share are read once, and their media decoded while ``look``
    has time.
    """
    findings = {item.task.name: unfetched(item, states) for item in tasks}
    shared: dict[_DataSet, list[WantedTask]] = {}
    for item in tasks:
        if findings[item.task.name]:
            continue
        try:
            shared.setdefault(_data_set(item), []).append(item)
        except MmevalError as error:
            findings[item.task.name] += _missing(item, error)
    counts: dict[str, Counts] = {}
    damages: dict[Source | None, list[Finding]] = {}
    for members in shared.values():
        source = data_source(members[0].data)
        if source not in damages:
            damages[source] = list(_damages(members[0], states))
        with Caught() as failure:  # of a loader
            found = _count(members, look)
        for item in members:
            name = item.task.name
            findings[name] += (_of_task(finding, name) for finding in damages[source])
            if failure:
                findings[name] += _missing(item, failure.error)
            else:
                counts[name] = found
                findings[name] += _of_contents(item, found)
    for item in tasks:
        name = item.task.name
        own = [*findings[name], *unpinned(item), *_missing_weights(item, weights)]
        yield DataCheck(name, tuple(own), counts.get(name))


def unfetched(item: WantedTask, states: States) -> list[Finding]:
    """Why the hub did not give the data of a task; empty if it did, or has none."""
    state = _state(item, states)
    return _missing(item, state) if isinstance(state, MmevalError) else []


def unreached(states: States, *, weights: bool) -> Iterator[Finding]:
    """What is wrong with the hub, and weights that it did not give: errors, unless
    there are local files."""
    command = PREPARE_WEIGHTS if weights else PREPARE_DATA
    for source, state in states.items():
        error = state.unasked if isinstance(state, Measured) else state
        severity: Severity = "note" if isinstance(state, Measured) else "error"
        subject = Subject(name=source.repo)
        if isinstance(error, OutOfReachError):
            remedy = f"{error.variable}=0 {command}" if error.variable else ""
            yield Finding("machine", subject, 0, 0, error.reason, remedy, severity)
        elif error is not None and source.only:
            found = finding_of(error, subject, severity)
            yield replace(found, kind="missing_weights")


def unopened(file: TaskFile, error: BaseException) -> Finding:
    """That the data of a task cannot be opened."""
    subject = Subject(file.name)
    # an error of missing data states the key if one is at fault
    if not isinstance(error, MissingDataError):
        subject = file.subject_at(("dataset_path",))
    return finding_of(error, subject)


def _state(item: WantedTask, states: States) -> Measured | MmevalError | None:
    source = data_source(item.data)
    return None if source is None else states.get(source)


def _missing(item: WantedTask, error: BaseException) -> list[Finding]:
    """The files to fetch by hand, else what the error states."""
    if isinstance(error, OutOfReachError):
        error = item.data.not_fetched(error.reason)
    return list(by_hand(item)) or [unopened(item.file, error)]


def _data_set(item: WantedTask) -> _DataSet:
    data = item.data
    return _DataSet(
        item.file.keys.loader, data.folder, data.name, data.split, repr(data.options)
    )


def _damages(item: WantedTask, states: States) -> Iterator[Finding]:
    """The files of the data set that differ from the hub."""
    state = _state(item, states)
    if isinstance(state, Measured) and state.listing is not None:
        yield from damaged(state.listing.files, item.data.folder)


def _count(members: Sequence[WantedTask], look: MediaLook | None) -> Counts:
    """Read data once for the tasks that share them."""
    first = members[0]
    place = str(_data_set(first)._replace(options=""))
    totals: set[str] = set()
    for item in members:
        totals |= item.file.keys.expected.totals.keys()
    tasks = [item.task for item in members]
    return count(first.data(), tasks, place, look, sorted(totals))


def _of_contents(item: WantedTask, counts: Counts) -> Iterator[Finding]:
    """What is wrong with data that were read."""
    expected, name = item.file.keys.expected, item.task.name
    # where every row can be read, a run does not need them
    severity: Severity = "error" if counts.findings else "note"
    for finding in by_hand(item):
        yield replace(finding, severity=severity)
    for finding in counts.findings:
        yield _of_task(finding, name)
    yield from unexpected(expected, counts, name)
    yield from wrong_files(name, expected.files, item.data.folder)


def _of_task(finding: Finding, task: str) -> Finding:
    return replace(finding, subject=replace(finding.subject, task=task))


def _missing_weights(item: WantedTask, weights: bool) -> Iterator[Finding]:
    """As a run finds them. The data are ready without, unless they were asked for."""
    for metric in item.task.metrics:
        for finding in metric.bound.lacks(()):
            if finding.kind == "missing_weights":
                found = _of_task(finding, item.task.name)
                yield replace(found, severity="error") if weights else found


def by_hand(item: WantedTask) -> Iterator[Finding]:
    """The missing files that the user has to fetch, with where to get and to put
    them."""
    data = item.data
    try:
        folder = data.local() if data.path and data.data_dir is None else None
    except MmevalError:
        folder = None
    if data.data_dir is not None:
        folder = data.folder if data.data_dir.is_dir() else data.data_dir
    places = [place for place in (folder, data.beside) if place is not None]
    for entry in item.file.keys.by_hand:
        if any(path_inside(place, entry.path).exists() for place in places):
            continue
        note = f" ({entry.note})" if entry.note else ""
        cause = f"fetch {entry.path} by hand: {entry.source}{note}"
        remedy = "--data_dir FOLDER"
        if folder is not None:
            cause, remedy = f"{cause}; put it at {folder / entry.path}", ""
        yield Finding(
            "missing_data",
            Subject(item.task.name),
            cause=cause,
            remedy=remedy,
            severity="error",
        )
