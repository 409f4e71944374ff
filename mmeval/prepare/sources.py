"""Sources of data sets and weights on the hub, each fetched once for all tasks."""

from __future__ import annotations

import asyncio
import glob
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

from mmeval.dataset import hub
from mmeval.dataset.hub import NOUN, RepoKind
from mmeval.dataset.hub_cache import COMMIT
from mmeval.errors import MmevalError
from mmeval.findings.finding import Finding
from mmeval.metric.model import named_in
from mmeval.system.threads import OwnThread
from mmeval.task.build import build
from mmeval.task.data import TaskData, is_hub_name
from mmeval.task.file import TaskFile
from mmeval.task.selection import ChosenTasks
from mmeval.task.task import Task, TaskOverrides

UNPINNED = "main"


class TaskWithFile(NamedTuple):
    """A task to prepare, and the task file that describes its data."""

    task: Task
    file: TaskFile

    @property
    def data(self) -> TaskData:
        return cast("TaskData", self.task.dataset)  # every built task has this type


@dataclass(frozen=True)
class HubSource:
    """A repository of the hub at a revision.

    ``only`` names the files that are fetched; if empty, all files are. An entry may
    have alternatives, as in ``HubModel``. Files are fetched into the cache, or into the
    folder ``into`` if it is set.
    """

    repo: str
    revision: str
    kind: RepoKind = "dataset"
    only: tuple[str, ...] = ()
    into: Path | None = None

    def __str__(self) -> str:
        noun = "weights" if self.only else NOUN[self.kind]
        return f"{noun} {self.repo} at {self.revision}"


def build_tasks(chosen: ChosenTasks, overrides: TaskOverrides) -> list[TaskWithFile]:
    """Builds the chosen tasks, without roles.

    Raises UsageError for invalid overrides, and MissingDataError for ``--data bundled``
    if a task has no bundled samples.
    """
    tasks: list[TaskWithFile] = []
    for name, file in chosen.tasks.items():
        tasks.append(TaskWithFile(replace(build(file, overrides), name=name), file))
    return tasks


def sources(
    tasks: Sequence[TaskWithFile],
    *,
    weights: bool,
) -> dict[HubSource, list[str]]:
    """Returns the distinct sources, each with the names of the tasks that use it."""
    by_repository: dict[HubSource, tuple[HubSource, list[str]]] = {}
    for item in tasks:
        name = item.task.name
        source_of_data = data_source(item.data)
        needed = [] if source_of_data is None else [source_of_data]
        for metric in item.task.metrics if weights else ():
            # the metric's missing models that are on the hub
            bound = metric.bound
            for switch, _ in bound.missing_models():
                location = named_in(bound.models[switch])
                model = bound.metric.models[switch]
                if location.folder is None and not model.by_hand:
                    revision = location.revision or UNPINNED
                    needed.append(
                        HubSource(location.name, revision, "model", model.files)
                    )
        for source in needed:
            repository = replace(source, only=())
            merged, users = by_repository.get(repository, (source, []))
            files = tuple(dict.fromkeys((*merged.only, *source.only)))
            if name not in users:
                users = [*users, name]
            by_repository[repository] = (replace(merged, only=files), users)
    return dict(by_repository.values())


def data_source(data: TaskData) -> HubSource | None:
    """Returns the source of a task's data; None for local data."""
    if data.bundled is not None or not is_hub_name(data.path):
        return None
    if (data.beside / data.path).is_dir():
        return None
    revision = data.revision or UNPINNED
    if data.data_dir is None:
        return HubSource(data.path, revision)
    target = data.data_dir / data.path
    if not (target / ".cache" / "huggingface").is_dir():
        # mmeval did not begin this download, so the data may be complete
        try:
            replace(data)()
        except MmevalError:
            pass
        else:
            return None
    return HubSource(data.path, revision, into=target)


def pin_findings(item: TaskWithFile) -> Iterator[Finding]:
    """Yields a finding if the data may change, because the revision is not a commit."""
    data = item.data
    try:
        is_local = data.data_dir is not None or data.local() is not None
    except MmevalError:
        return  # opening the data reports it
    if data.bundled is None and not is_local and not COMMIT.fullmatch(data.revision):
        key = "revision" if data.revision else "dataset_path"
        cause = f"{data.path} is not pinned; set revision to a commit"
        yield Finding("task_file", item.file.subject_at((key,)), cause=cause)


def fetch(source: HubSource) -> Path:
    """Fetches the missing files of a source and returns its folder.

    Raises the errors of ``hub.snapshot``. Ctrl-C raises KeyboardInterrupt at once, even
    while a large file is fetched.
    """
    names = [name for item in source.only for name in item.split("|")]
    work = partial(
        hub.snapshot,
        source.repo,
        source.revision,
        kind=source.kind,
        only=tuple(glob.escape(name) for name in names if name),
        into=source.into,
    )
    return asyncio.run(OwnThread("mmeval-fetch").do(work))
