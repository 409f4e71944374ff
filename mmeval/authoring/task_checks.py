"""Checks task files, their data and their metrics."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from mmeval import plugins
from mmeval.authoring.sample_checks import SampleChecks
from mmeval.backend.contract import AnyBackend
from mmeval.errors import (
    MissingDataError,
    MmevalError,
    PluginError,
    TaskFileError,
    did_you_mean,
)
from mmeval.findings.finding import Finding, Kind, Subject
from mmeval.findings.from_error import finding_of
from mmeval.media.decode.check import MediaCheck
from mmeval.plugins import package_folder
from mmeval.prepare.sources import TaskWithFile, pin_findings
from mmeval.program.calls import MODEL
from mmeval.run.availability import (
    check_any,
    optional_tasks,
    unavailable_findings,
    undescribed_media,
)
from mmeval.run.options import BackendSpec
from mmeval.run.undeclared import declarable, undeclared
from mmeval.system.wording import split_names
from mmeval.system.yaml_document import SeveralFaultsError
from mmeval.task.build import build
from mmeval.task.data import TaskData, bundled_folder
from mmeval.task.file import TaskFile
from mmeval.task.index import TaskIndex
from mmeval.task.released.catalogue import catalogue_files, read_catalogue
from mmeval.task.selection import ChosenTasks
from mmeval.task.task import FixedKinds, Selection, Task, TaskOverrides

_logger = logging.getLogger(__name__)


class SoundTask(NamedTuple):
    """A task that can run. ``samples`` is the number of rows that were read and that
    the task's filter keeps."""

    file: TaskFile
    task: Task
    samples: int


@dataclass
class CheckTally:
    """The tasks that were checked, and the tasks that can run."""

    tasks: list[str] = field(default_factory=list)
    sound_tasks: list[SoundTask] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    """The tasks whose data are missing."""
    bundled: list[str] = field(default_factory=list)
    """The tasks that can run with their bundled samples."""
    unscorable: set[str] = field(default_factory=set)
    """The tasks without a metric that can be computed here. A run only records their
    answers."""
    look: MediaCheck = field(default_factory=MediaCheck)


_OF_METRICS: tuple[Kind, ...] = ("missing_extra", "missing_role", "missing_weights")
"""What metrics lack. A run without them still records the answers."""
_NEEDED_TO_RUN = (
    *_OF_METRICS,
    "partial",
    "unsupported",
)


class _Context(NamedTuple):
    """The settings of a run of the tasks; see ``check``."""

    overrides: TaskOverrides
    roles: frozenset[str]
    rows: int | None
    strict: bool
    backends: Mapping[str, AnyBackend]
    model: BackendSpec | None
    optional: frozenset[str] = frozenset()
    """The tasks that a run would leave out if their data are missing."""


def check(
    names: Sequence[str],
    include_path: Sequence[Path] = (),
    overrides: TaskOverrides | None = None,
    *,
    roles: frozenset[str] = frozenset(),
    rows: int | None = None,
    strict: bool = False,
    backends: Mapping[str, AnyBackend] = MappingProxyType({}),
    model: BackendSpec | None = None,
    tally: CheckTally | None = None,
) -> Iterator[Finding]:
    """Checks the tasks that the names select: their files first, then their data.

    ``rows`` is the maximum number of rows to read of each task. With None, all rows are
    read. ``roles`` are the roles of the run. ``backends`` are those backends that could
    be created. ``model`` is the spec of the model. With ``strict`` an unavailable
    metric is an error. The results are added to ``tally``. Raises UnknownNameError for
    a name that selects nothing.
    """
    tally = CheckTally() if tally is None else tally
    context = _Context(
        overrides or TaskOverrides(), roles, rows, strict, backends, model
    )
    index = TaskIndex(include_path)
    chosen = ChosenTasks(index)
    for name in split_names(names):
        try:
            if _means_folder(name, index):
                chosen.add_path(Path(name))
            else:
                chosen.add(name)
        except TaskFileError as error:
            yield from _file_findings(error)
    if len(chosen.tasks) > 1 and not strict:
        optional = optional_tasks(chosen.groups.values())
        context = context._replace(optional=frozenset(optional))
    findings: list[Finding] = []
    for name, file in chosen.tasks.items():
        tally.tasks.append(name)
        findings += _check_task(name, file, context, tally)
    # A run with data for other tasks leaves out members of a group without data. Their
    # missing data are a warning, and other findings about them are dropped.
    absent = set(tally.absent)
    cannot_run = absent == set(tally.tasks) or not absent <= context.optional
    for finding in findings:
        if cannot_run or finding.subject.task not in absent:
            yield finding
        elif finding.kind == "missing_data":
            yield replace(finding, severity="warning")
        elif finding.kind not in _NEEDED_TO_RUN:
            yield finding
    yield from _check_catalogues(chosen.tasks.values())
    try:
        chosen.check_group_metrics()
    except TaskFileError as error:
        yield from _file_findings(error)
    except MmevalError:
        pass  # a metric that cannot be loaded is reported with its task
    yield from tally.look.findings()


def _check_catalogues(tasks: Iterable[TaskFile]) -> Iterator[Finding]:
    """Yields the faults of the tasks' catalogues of released prompts."""
    for path in catalogue_files(tasks):
        try:
            read_catalogue(path)
        except TaskFileError as error:
            yield from _file_findings(error)


def _means_folder(name: str, index: TaskIndex) -> bool:
    """Returns whether a name refers to a folder of task files. If installed tasks have
    the same name, the folder is preferred, because its author has probably just changed
    it. This choice is logged."""
    folder = Path(name)
    if "/" in name or not folder.is_dir():
        return False
    if not index.below(folder):
        return False
    entry = index.find(name)
    entries = index.tagged(name) if entry is None else [entry]
    for other in entries:
        if not other.file.resolve().is_relative_to(folder.resolve()):
            _logger.info(
                "%s: checks the folder, not the installed task of this name (%s); to "
                "check the task write %s",
                name,
                other.file,
                other.full_name if other.benchmark else other.file,
            )
            return True
    return False


def _file_findings(error: TaskFileError, task: str = "") -> Iterator[Finding]:
    for fault in error.faults if isinstance(error, SeveralFaultsError) else (error,):
        yield finding_of(fault, Subject(task))


def _check_task(
    name: str,
    file: TaskFile,
    context: _Context,
    tally: CheckTally,
) -> Iterator[Finding]:
    """Yields the findings of one task. A task that can run is added to the tally's
    sound tasks."""
    try:
        task = replace(build(file, context.overrides, roles=context.roles), name=name)
    except TaskFileError as error:
        yield from _file_findings(error, name)
        return
    except MmevalError as error:
        yield finding_of(error, file.subject_at(()))
        return
    if isinstance(task.dataset, TaskData):
        task = replace(task, dataset=replace(task.dataset, fetch=False))
    data = SampleChecks(file, task, context.rows, tally.look)
    findings = [
        *_check_metrics(task, strict=context.strict),
        *undescribed_media([task], context.backends),
        *_check_kinds(task, context),
        *_check_roles(file, task),
        *_check_package(file),
        *pin_findings(TaskWithFile(task, file)),
    ]
    of_rows = list(data.findings())
    if name in context.optional and data.read and not data.selected:
        # a member of a group that keeps no row is treated as without data
        try:
            check_any(task, task.dataset())
        except MissingDataError as error:
            data.absent = True
            of_rows = [finding_of(error, Subject(name))]
    yield from findings
    yield from of_rows
    if not context.strict and not any(not metric.lacks for metric in task.metrics):
        tally.unscorable.add(name)
    unscored = () if context.strict else _OF_METRICS
    is_blocked = any(_stops(finding, unscored) for finding in findings)
    if data.absent:
        tally.absent.append(name)
    if bundled_folder(file) is not None and not is_blocked:
        tally.bundled.append(name)
    if not is_blocked and not any(_stops(finding) for finding in of_rows):
        tally.sound_tasks.append(SoundTask(file, task, data.selected))


def _stops(finding: Finding, tolerated: Collection[Kind] = ()) -> bool:
    """Returns whether a finding stops a run of its task."""
    return finding.severity == "error" and finding.kind not in tolerated


def _check_metrics(task: Task, *, strict: bool) -> Iterator[Finding]:
    """Yields findings about unavailable metrics. They are errors if no metric is
    available, or with ``strict``."""
    any_available = any(not metric.lacks for metric in task.metrics)
    for finding in unavailable_findings(Selection((task,))):
        if finding.kind != "partial" and (strict or not any_available):
            yield replace(finding, severity="error")
        else:
            yield finding


def _check_roles(file: TaskFile, task: Task) -> Iterator[Finding]:
    called_roles: set[str] = set()
    for metric in task.metrics:
        called_roles.update(metric.bound.called_roles(task.roles))
    for role in task.roles:
        near = "" if role in called_roles else did_you_mean(role, called_roles)
        if near:
            cause = f"no metric of this task uses the role {role}{near}"
            yield Finding("task_file", file.subject_at(("roles", role)), cause=cause)


def _check_package(file: TaskFile) -> Iterator[Finding]:
    for entry in plugins.entries("mmeval.tasks"):
        folder = package_folder(entry.value)
        if folder is None or not file.document.file.is_relative_to(folder):
            continue
        try:
            importlib.import_module(entry.value)
        # the code of a plugin may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            yield finding_of(
                PluginError(f"it cannot be imported: {error}"),
                Subject(name=entry.value),
            )
        return


def _check_kinds(task: Task, context: _Context) -> Iterator[Finding]:
    """Checks that the model can produce the requested output kinds. Does nothing if the
    samples request different kinds."""
    requested, backends = task.output_kinds, context.backends
    if MODEL not in backends or not isinstance(requested, FixedKinds):
        return
    capabilities = backends[MODEL].capabilities
    missing = sorted(set(requested.kinds) - set(capabilities.outputs))
    if not missing:
        return
    is_partial = task.partial_output and len(missing) < len(requested.kinds)
    if context.model is not None:
        # all samples request the same kinds, so none has to be read
        advice = list(undeclared([task], lambda _: (), capabilities, context.model))
        yield from advice
        if advice:
            advised = {*capabilities.by_role, *declarable(capabilities, context.model)}
            missing = [kind for kind in missing if kind not in advised]
    if not missing:
        return
    by_role = capabilities.by_role
    roles = {by_role[kind] for kind in missing if kind in by_role}
    yield Finding(
        "unsupported",
        Subject(task.name, role=MODEL),
        cause=f"the model does not give {', '.join(missing)}",
        remedy=" ".join(f"--role {role}=BACKEND" for role in sorted(roles)),
        severity="note" if is_partial else "error",
    )
