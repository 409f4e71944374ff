"""What has to be fetched for tasks: data sets of the hub, and the weights of metrics; each once, whoever needs it."""

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
from mmeval.errors import Interrupted, MmevalError
from mmeval.metric.bound import BoundMetric
from mmeval.metric.model import named_in
from mmeval.system.threads import OwnThread
from mmeval.task.build import build
from mmeval.task.data import TaskData, is_hub_name
from mmeval.task.file import TaskFile
from mmeval.task.selection import Chosen
from mmeval.task.task import Task, TaskOverrides

INTERRUPTED = "interrupted; the files that were fetched whole are kept, and the same command goes on with the others"

UNPINNED = "main"


class Wanted(NamedTuple):
    """A task that is to be made ready, with the file that says what its data should be."""

    task: Task
    file: TaskFile

    @property
    def data(self) -> TaskData:
        return cast("TaskData", self.task.dataset)  # what the builder makes of every task file


@dataclass(frozen=True)
class Source:
    """A repository of the hub at a revision, or the files ``only`` of it (with their alternatives, as ``HubModel``
    writes them); in the cache, or in a folder ``into``."""

    repo: str
    revision: str
    kind: RepoKind = "dataset"
    only: tuple[str, ...] = ()
    into: Path | None = None

    def __str__(self) -> str:
        return f"{'weights' if self.only else NOUN[self.kind]} {self.repo} at {self.revision}"


def wanted(chosen: Chosen, overrides: TaskOverrides, *, roles: frozenset[str] = frozenset()) -> list[Wanted]:
    """The tasks that were chosen, for a run with these ``roles``. Raises UsageError for what cannot be used as asked,
    MissingDataError where ``--data bundled`` has no samples."""
    return [
        Wanted(replace(build(file, overrides, roles=roles), name=name), file) for name, file in chosen.tasks.items()
    ]


def sources(tasks: Sequence[Wanted], *, weights: bool) -> dict[Source, list[str]]:
    """What is fetched for tasks, each once, with the names of those that need it."""
    found: dict[Source, tuple[Source, list[str]]] = {}
    for item in tasks:
        for source in _sources(item, weights=weights):
            same = replace(source, only=())
            known, users = found.get(same, (source, []))
            files = tuple(dict.fromkeys((*known.only, *source.only)))
            found[same] = (replace(known, only=files), list(dict.fromkeys((*users, item.task.name))))
    return dict(found.values())


def _sources(item: Wanted, *, weights: bool) -> Iterator[Source]:
    source = data_source(item.data)
    if source is not None:
        yield source
    if weights:
        for metric in item.task.metrics:
            yield from _models(metric.bound)


def _models(bound: BoundMetric) -> Iterator[Source]:
    """The models of the hub that a metric needs and that are not here."""
    for switch, _ in bound.lacking_models():
        named, model = named_in(bound.models[switch]), bound.metric.models[switch]
        if named.folder is None and not model.by_hand:
            yield Source(named.name, named.revision or UNPINNED, "model", model.files)


def data_source(data: TaskData) -> Source | None:
    """Where the data of a task are fetched from; None when they lie in a folder of the user's."""
    if data.bundled is not None or not is_hub_name(data.path) or (data.beside / data.path).is_dir():
        return None
    revision = data.revision or UNPINNED
    if data.data_dir is None:
        return Source(data.path, revision)
    target = data.data_dir / data.path
    begun_by_us = (target / ".cache" / "huggingface").is_dir()
    return Source(data.path, revision, into=target) if begun_by_us or not _opens(data) else None


def _opens(data: TaskData) -> bool:
    """Whether somebody has put the data there already."""
    try:
        replace(data)()
    except MmevalError:
        return False
    return True


def fetch(source: Source) -> Path:
    """The folder of a source's files, those fetched that lack. Raises as ``hub.snapshot`` does, and Interrupted, at
    once however large the file is that is under way."""
    work = partial(
        hub.snapshot,
        source.repo,
        source.revision,
        kind=source.kind,
        only=tuple(glob.escape(name) for item in source.only for name in item.split("|") if name),
        into=source.into,
    )
    try:
        return asyncio.run(OwnThread("mmeval-fetch").do(work))
    except KeyboardInterrupt:
        raise Interrupted(INTERRUPTED) from None
