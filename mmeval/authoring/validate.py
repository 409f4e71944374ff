"""Checks of ``mmeval validate`` over the task files that names select."""

from __future__ import annotations

import importlib
import logging
import re
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from mmeval import plugins
from mmeval.authoring.finding import TaskFinding, finding_at
from mmeval.authoring.sample_checks import PROMPTED_ROWS, SampleChecks
from mmeval.decode.check import SECONDS, MediaLook
from mmeval.errors import Caught, MissingError, MmevalError, TaskFileError, did_you_mean
from mmeval.plugins import package_folder
from mmeval.system.yaml_document import SeveralFaultsError
from mmeval.task.build import build
from mmeval.task.data import TaskData
from mmeval.task.file import RequirementError, TaskFile
from mmeval.task.index import TaskIndex
from mmeval.task.selection import ChosenTasks
from mmeval.task.task import Task, TaskOverrides
from mmeval.wording import split_names

_logger = logging.getLogger(__name__)


CHECKS: Mapping[str, str] = {
    "requires": "requires_mmeval is met by this mmeval",
    "schema": "the files and their includes are valid YAML, all keys known and well "
    "typed, metadata.version present",
    "plugins": "loader, prompt, protocol, metrics and aggregators exist, import, and "
    "take their options",
    "metrics": "every metric can be computed here: its packages are installed (a "
    "warning where not)",
    "package": "the package that holds a task file can be imported",
    "revision": "a data set of the hub is pinned to a commit (a warning where not)",
    "dataset": (
        "the data are there (a warning for those of the hub: none are fetched), the "
        "loader takes them, and the filter "
        "keeps at least one sample"
    ),
    "rows": "every row can be read, and put to a model",
    "keys": "no label has nearly the name of a key of rows (a warning; for the loader "
    "interleaved)",
    "tags": "every tag in an input has its medium (a warning where not)",
    "texts": "no label or reference is a list written as a text, or base64 (a warning)",
    "ids": "no two samples have the same id, and none is empty",
    "modalities": "samples hold only kinds of input_modalities, and name their "
    "output_modalities if per_sample",
    "answers": "references hold only kinds of output_modalities (a warning where not)",
    "media": "every medium is there, and its content is of the kind that it is "
    "announced as",
    "decoding": (
        "pictures, sounds, videos, PDF files and meshes can be decoded, for "
        f"{SECONDS:.0f} seconds in all (a warning "
        "where what decodes them is not installed)"
    ),
    "references": "every metric that asks no role can score an answer to each sample "
    "that has no reference",
    "rubrics": "every sample has what a metric is known to need of it: its rubric, for "
    "rubric_judge",
    "labels": (
        "filter, breakdown, cluster_key and prompt_fields name labels that some "
        "sample has, breakdown and cluster_key "
        "those that every sample has (a warning where some lack them)"
    ),
    "prompt": f"the prompt can be made of the first {PROMPTED_ROWS} samples",
    "bounds": (
        "every metric gives the references a better number than the references of "
        "other samples, and than empty "
        "answers (a warning where not, an error where those of other samples have the "
        "better one, or the references "
        "have none)"
    ),
}
"""What is checked, in order. A check that lacks its input (no data, for example) is
left out for that task."""


class Sound(NamedTuple):
    """A task without errors; ``samples`` are those that it keeps of the rows read."""

    file: TaskFile
    task: Task
    samples: int


@dataclass
class CheckTally:
    """What was checked: tasks, their samples and media; and the tasks without
    errors."""

    tasks: int = 0
    samples: int = 0
    loose_media: int = 0
    """Media without a file of their own."""
    files: set[Path] = field(default_factory=set)
    sound: list[Sound] = field(default_factory=list)
    look: MediaLook = field(default_factory=MediaLook)
    reencoded: Counter[str] = field(default_factory=Counter)
    """Media of inputs that most servers get in another format than theirs."""

    @property
    def media(self) -> int:
        return len(self.files) + self.loose_media


def check(
    names: Sequence[str],
    include_path: Sequence[Path] = (),
    overrides: TaskOverrides | None = None,
    *,
    roles: frozenset[str] = frozenset(),
    rows: int | None = None,
    tally: CheckTally | None = None,
) -> Iterator[TaskFinding]:
    """Check the tasks that names select: files first, then the data of each task.
    The last check, ``bounds``, is :func:`mmeval.authoring.bounds.measure`.

    ``rows`` limits how many rows of each task are read; None reads all. ``roles`` are
    those that a run would have. ``tally`` is filled. Raises UnknownNameError for a name
    that selects nothing.
    """
    tally = CheckTally() if tally is None else tally
    index = TaskIndex(include_path)
    chosen = ChosenTasks(index)
    # a broken file is found by its own name and in each group that holds it
    seen: set[TaskFinding] = set()
    for name in split_names(names):
        try:
            if _means_folder(name, index):
                chosen.add_path(Path(name))
            else:
                chosen.add(name)
        except TaskFileError as error:
            found = list(
                _file_findings(
                    error,
                    "requires" if isinstance(error, RequirementError) else "schema",
                )
            )
            yield from (fault for fault in found if fault not in seen)
            seen.update(found)
    for name, file in chosen.tasks.items():
        tally.tasks += 1
        sound = yield from _check_task(
            file, overrides or TaskOverrides(), roles, rows, tally
        )
        if sound is not None:
            tally.sound.append(sound._replace(task=replace(sound.task, name=name)))
    try:
        chosen.check_group_metrics()
    except TaskFileError as error:
        yield from _file_findings(error, "plugins")
    except MmevalError:
        return  # a metric that cannot be loaded is reported with its task


def _means_folder(name: str, index: TaskIndex) -> bool:
    """Whether a name of both a folder of task files and others means the folder. It
    does if it has task files, as its author has probably just changed it. The choice is
    logged."""
    folder = Path(name)
    if "/" in name or not folder.is_dir():
        return False
    entry = index.find(name)
    named = index.tagged(name) if entry is None else [entry]
    others = [
        one for one in named if not one.file.resolve().is_relative_to(folder.resolve())
    ]
    if not others or not index.below(folder):
        return False
    _logger.info(
        "%s: the folder is checked, not the installed task of this name (%s); to "
        "check that write %s",
        name,
        others[0].file,
        others[0].full_name if others[0].benchmark else others[0].file,
    )
    return True


def _file_findings(error: TaskFileError, name: str) -> Iterator[TaskFinding]:
    for fault in error.faults if isinstance(error, SeveralFaultsError) else (error,):
        yield TaskFinding(fault.file, fault.line, "error", fault.message, name)


def _check_task(
    file: TaskFile,
    overrides: TaskOverrides,
    roles: frozenset[str],
    rows: int | None,
    tally: CheckTally,
) -> Generator[TaskFinding, None, Sound | None]:
    """The findings of one task; returns the task if it has no errors and its data."""
    try:
        task = build(file, overrides, roles=roles)
    except TaskFileError as error:
        yield from _file_findings(error, "plugins")
        return None
    except MissingError as error:
        yield finding_at(
            file, (), "dataset" if overrides.data else "plugins", str(error)
        )
        return None
    except MmevalError as error:
        yield finding_at(file, (), "plugins", str(error))
        return None
    if isinstance(task.dataset, TaskData):
        task = replace(task, dataset=replace(task.dataset, fetch=False))
    data = SampleChecks(file, task, rows, tally.look)
    sound = True
    for metric in task.metrics:
        if metric.unavailable:
            message = (
                f"the metric {metric.bound.name!r} will be unavailable: "
                f"{metric.unavailable}"
            )
            yield finding_at(file, ("metric_list",), "metrics", message, "warning")
    asked = {
        role for metric in task.metrics for role in metric.bound.asked_roles(task.roles)
    }
    for role in task.roles:
        if role not in asked and (near := did_you_mean(role, asked)):
            message = f"roles.{role}: no metric of this task asks this role{near}"
            yield finding_at(file, ("roles", role), "metrics", message, "warning")
    for finding in chain(
        _check_package(file), _check_revision(file, task), data.findings()
    ):
        sound = sound and finding.severity != "error"
        yield finding
    tally.samples += data.selected
    tally.reencoded.update(data.reencoded)
    tally.files |= data.media
    tally.loose_media += data.loose_media
    return Sound(file, task, data.selected) if sound and not data.absent else None


def _check_package(file: TaskFile) -> Iterator[TaskFinding]:
    for entry in plugins.entries("mmeval.tasks"):
        folder = package_folder(entry.value)
        if folder is None or not file.document.file.is_relative_to(folder):
            continue
        with Caught() as failure:
            importlib.import_module(entry.value)
        if failure:
            yield finding_at(
                file,
                (),
                "package",
                f"the package {entry.value} cannot be imported: {failure.error}",
            )
        return


def _check_revision(file: TaskFile, task: Task) -> Iterator[TaskFinding]:
    data = task.dataset
    if (
        not isinstance(data, TaskData)
        or data.bundled is not None
        or data.data_dir is not None
    ):
        return
    try:
        on_hub = data.local() is None
    except MmevalError:
        return  # reported by the check of the data set
    if on_hub and not re.fullmatch(r"[0-9a-f]{40}", data.revision):
        message = (
            f"the data set {data.path} is not pinned; write the 40 characters of a "
            "commit under revision"
        )
        yield finding_at(
            file,
            ("revision",) if data.revision else ("dataset_path",),
            "revision",
            message,
            "warning",
        )
