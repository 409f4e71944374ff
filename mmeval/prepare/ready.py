"""Checks whether the data of tasks are complete and their weights are present."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mmeval.dataset.hub import OutOfReachError, offline
from mmeval.errors import EXIT_OK, MissingDataError, MmevalError
from mmeval.findings.exit_code import exit_code
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.findings.from_error import PREPARE_DATA, finding_of
from mmeval.media.decode.check import MediaCheck
from mmeval.media.media import path_inside
from mmeval.metric.bound import PREPARE_WEIGHTS
from mmeval.prepare.checks import DataCounts, count, count_findings, wrong_files
from mmeval.prepare.sizes import Download, DownloadState
from mmeval.prepare.sources import HubSource, TaskWithFile, data_source, pin_findings

DownloadStates = Mapping[HubSource, DownloadState]


@dataclass(frozen=True)
class DataCheck:
    """The findings about a task's data, and its numbers if the data can be read."""

    task: str
    findings: tuple[Finding, ...]
    counts: DataCounts | None = None

    @property
    def ready(self) -> bool:
        return exit_code(self.findings) == EXIT_OK

    @property
    def read(self) -> bool:
        """True if the data were read to the end."""
        return self.counts is not None and self.counts.read


class _DataSet(NamedTuple):
    """The key of a data set that several tasks may share."""

    loader: str
    folder: Path
    name: str
    split: str
    options: str


def check_data(
    tasks: Sequence[TaskWithFile],
    states: DownloadStates,
    *,
    weights: bool,
    look: MediaCheck | None = None,
) -> Iterator[DataCheck]:
    """Checks the data and weights of each task.

    Missing weights are an error if ``weights`` is True. Data that several tasks share
    are read once. Media are decoded until the time of ``look`` is over.
    """
    findings: dict[str, list[Finding]] = {}
    shared: dict[_DataSet, list[TaskWithFile]] = {}
    for item in tasks:
        task_findings = findings[item.task.name] = fetch_findings(item, states)
        if task_findings:
            continue
        data = item.data
        options = repr(data.options)
        try:
            data_set = _DataSet(
                item.file.keys.loader, data.folder, data.name, data.split, options
            )
        except MmevalError as error:
            task_findings += open_findings(item, error)
            continue
        shared.setdefault(data_set, []).append(item)
    counts: dict[str, DataCounts] = {}
    for data_set, members in shared.items():
        place = str(data_set._replace(options=""))
        task_list = [item.task for item in members]
        totals: set[str] = set()
        for item in members:
            totals |= item.file.keys.expected.totals.keys()
        try:
            dataset = members[0].data()
            data_counts = count(dataset, task_list, place, look, sorted(totals))
        # a plugin's loader may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            for item in members:
                findings[item.task.name] += open_findings(item, error)
            continue
        for item in members:
            counts[item.task.name] = data_counts
            findings[item.task.name] += _content_findings(item, data_counts)
    for item in tasks:
        name = item.task.name
        task_findings = [
            *findings[name],
            *pin_findings(item),
            *_missing_weights(item, weights),
        ]
        yield DataCheck(name, tuple(task_findings), counts.get(name))


def fetch_findings(item: TaskWithFile, states: DownloadStates) -> list[Finding]:
    """Returns findings if the data were not completely fetched."""
    source = data_source(item.data)
    state = None if source is None else states.get(source)
    if isinstance(state, MmevalError):
        return open_findings(item, state)
    if state is None:
        return []
    return [_with_task(finding, item.task.name) for finding in state.damages]


def hub_findings(states: DownloadStates, *, weights: bool) -> Iterator[Finding]:
    """Yields findings about failures of the hub and weights that it could not provide.

    These findings are errors unless the files are on this machine.
    """
    command = PREPARE_WEIGHTS if weights else PREPARE_DATA
    for source, state in states.items():
        error: MmevalError | None
        severity: Severity
        if isinstance(state, Download):
            error, severity = state.hub_error, "note"
        else:
            error, severity = state, "error"
        subject = Subject(name=source.repo)
        if isinstance(error, OutOfReachError):
            variable = offline(source.kind)
            remedy = f"{variable}=0 {command}" if variable else ""
            yield Finding(
                "machine",
                subject,
                cause=error.reason,
                remedy=remedy,
                severity=severity,
            )
        elif error is not None and source.only:
            finding = finding_of(error, subject, severity)
            yield replace(finding, kind="missing_weights")


def open_findings(item: TaskWithFile, error: BaseException) -> list[Finding]:
    """Returns findings about data that cannot be opened.

    The findings name the files that the user has to fetch. If there are no such files,
    they state the error.
    """
    if isinstance(error, OutOfReachError):
        error = item.data.not_fetched(error.reason)
    if isinstance(error, MissingDataError):
        # the error states the key of the task file, if one is wrong
        return list(by_hand(item)) or [finding_of(error, Subject(item.task.name))]
    return [finding_of(error, item.file.subject_at(("dataset_path",)))]


def _content_findings(item: TaskWithFile, counts: DataCounts) -> Iterator[Finding]:
    """Yields findings about data that were read."""
    expected = item.file.keys.expected
    name = item.task.name
    # if every row can be read, a run does not need these files
    severity: Severity = "error" if counts.findings else "note"
    for finding in by_hand(item):
        yield replace(finding, severity=severity)
    for finding in counts.findings:
        yield _with_task(finding, name)
    yield from count_findings(expected, counts, name)
    yield from wrong_files(name, expected.files, item.data.folder)


def _with_task(finding: Finding, task: str) -> Finding:
    return replace(finding, subject=replace(finding.subject, task=task))


def _missing_weights(item: TaskWithFile, weights: bool) -> Iterator[Finding]:
    """Yields the findings about missing weights that a run would report.

    These findings are errors only with ``weights``, since data can be ready without
    weights.
    """
    for metric in item.task.metrics:
        for finding in metric.bound.lacks(()):
            if finding.kind == "missing_weights":
                located = _with_task(finding, item.task.name)
                yield replace(located, severity="error") if weights else located


def by_hand(item: TaskWithFile) -> Iterator[Finding]:
    """Yields the missing files that the user has to fetch.

    Each finding states where the user gets the file and where to store it.
    """
    data = item.data
    folder = data.data_dir
    if folder is not None and folder.is_dir():
        folder = data.folder
    elif folder is None and data.path:
        try:
            folder = data.local()
        except MmevalError:
            folder = None
    places = [data.beside] if folder is None else [folder, data.beside]
    for entry in item.file.keys.by_hand:
        if any(path_inside(place, entry.path).exists() for place in places):
            continue
        note = f" ({entry.note})" if entry.note else ""
        cause = f"fetch {entry.path} by hand: {entry.source}{note}"
        remedy = "--data_dir FOLDER"
        if folder is not None:
            cause += f"; put it at {folder / entry.path}"
            remedy = ""
        yield Finding(
            "missing_data",
            Subject(item.task.name),
            cause=cause,
            remedy=remedy,
            severity="error",
        )
