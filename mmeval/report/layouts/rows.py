"""Makes the rows of a layout's tables from runs, published numbers and boards."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from mmeval.errors import PluginError, UsageError, did_you_mean
from mmeval.report.layouts.cells import RunNumbers, StatedNumbers
from mmeval.report.layouts.tables import ModelRow
from mmeval.results.board import BoardPublished, BoardRow, BoardRun
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import groups_of, is_subset
from mmeval.results.published import TableNumber, read_published
from mmeval.results.stored_run import StoredRun, run_folder
from mmeval.task.layout_file import LayoutFile, lines_of

BUNDLED = "bundled samples or a stand-in metric, not comparable with the paper"


@dataclass(frozen=True)
class OpenRun:
    """A run that is open for reading, with the name and the group of its row."""

    run: StoredRun
    name: str = ""
    group: str = ""


@dataclass(frozen=True)
class PublishedRows:
    """A CSV file of published numbers, and its models to show (none: all)."""

    file: Path
    models: tuple[str, ...] = ()


Source: TypeAlias = OpenRun | PublishedRows


def opened(run: BoardRun) -> OpenRun:
    """Returns the run of a folder or of a results file.

    Raises MissingDataError if there is no run.
    """
    path = run.run.expanduser()
    if path.is_file():
        folder = path.parent
        stored = StoredRun(run_folder(folder), path)
    else:
        stored = StoredRun(run_folder(path))
    return OpenRun(stored, run.name, run.group)


def sources_of(rows: Iterable[BoardRow]) -> list[Source]:
    """Returns the rows of a board or of a command, with its runs opened."""
    sources: list[Source] = []
    for row in rows:
        if isinstance(row, BoardPublished):
            sources.append(PublishedRows(row.published, row.models))
        else:
            sources.append(opened(row))
    return sources


def model_rows(layout: LayoutFile, sources: Sequence[Source]) -> list[ModelRow]:
    """Returns the rows of a layout's tables, in the order of the sources.

    Raises UsageError for a published file that cannot be read or lacks a named model,
    and PluginError if the layout's hook fails on a run.
    """
    names = _names(sources)
    rows: list[ModelRow] = []
    for source in sources:
        if isinstance(source, PublishedRows):
            rows += _published_rows(source)
            continue
        more: Iterable[TableNumber] = ()
        if layout.numbers and source.run.results:
            more = called(layout, layout.numbers, source.run)
        tasks = own_tasks(layout, source.run)
        row = ModelRow(
            names[id(source)],
            RunNumbers(source.run, more),
            source.group,
            run=source.run,
            tasks=tasks,
            limits=_limits(tasks, source.run),
        )
        rows.append(row)
    return rows


def called(layout: LayoutFile, hook: str, run: StoredRun) -> Any:
    """Returns what a hook of a layout returns for a run, as a list or mapping.

    Raises PluginError if the hook fails.
    """
    module, _, function = hook.partition(":")
    try:
        content = getattr(importlib.import_module(module), function)(run)
        return content if isinstance(content, Mapping) else list(content)
    # a plugin's hook may raise anything and call sys.exit
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise PluginError(f"the layout {layout.name!r} failed ({reason})") from error


def _published_rows(source: PublishedRows) -> list[ModelRow]:
    models = read_published(source.file)
    known = [model.name for model in models]
    for name in source.models:
        if name not in known:
            raise UsageError(
                f"{source.file}: unknown model {name!r}{did_you_mean(name, known)}"
            )
    chosen = list(models)
    if source.models:
        # a stable sort keeps the rows of a model with several groups in order
        chosen = [model for model in models if model.name in source.models]
        chosen.sort(key=lambda model: source.models.index(model.name))
    rows = []
    for model in chosen:
        numbers = StatedNumbers(model.numbers)
        rows.append(ModelRow(model.name, numbers, model.group, source.file.name))
    return rows


def _names(sources: Sequence[Source]) -> dict[int, str]:
    """Returns the names of the runs: as given, or else the model, with the name of the
    run only where two rows would be called the same."""
    counts: Counter[str] = Counter()
    runs: list[OpenRun] = []
    for source in sources:
        if isinstance(source, OpenRun):
            runs.append(source)
            counts[source.name or source.run.model] += 1
        else:
            counts.update(source.models)
    names: dict[int, str] = {}
    for source in runs:
        name = source.name or source.run.model
        if counts[name] > 1 and not source.name:
            name = source.run.name
        names[id(source)] = name
    shared = Counter(names.values())
    for source in runs:
        if shared[names[id(source)]] > 1 and not source.name:
            names[id(source)] = f"{source.run.model} ({source.run.folder})"
    return names


def tasks_of(layout: LayoutFile) -> set[str]:
    """Returns the tasks and groups that a layout names."""
    tasks: set[str] = set()
    for table in layout.tables:
        tasks.add(table.key.task or "")
        for axis in (table.blocks, table.rows, table.columns):
            for line in lines_of(axis):
                if line is not None:
                    tasks.add(line.key.task or "")
    return tasks - {""}


def own_tasks(layout: LayoutFile, run: StoredRun) -> frozenset[str]:
    """Returns the tasks of a run that a layout shows: those of its cells, and those
    whose files name the layout."""
    members = groups_of([run.results])
    inside: set[str] = set()
    for name in tasks_of(layout):
        inside |= tasks_inside(name, members)
    tasks: set[str] = set()
    for task in run.tasks:
        if task.name in inside or task.config.get("layout") == layout.name:
            tasks.add(task.name)
    return frozenset(tasks)


def _limits(tasks: frozenset[str], run: StoredRun) -> str:
    """Returns why the numbers of these tasks are not those of the whole benchmark."""
    limits = []
    if not tasks.isdisjoint(run.ours.get("not_comparable", ())):
        limits.append(BUNDLED)
    subsets = run.ours.get("subset", {})
    if any(is_subset(row) for task, row in subsets.items() if task in tasks):
        limits.append("a subset of the samples")
    if not tasks.isdisjoint(run.ours.get("unfinished", {})):
        limits.append("unfinished")
    if not tasks.isdisjoint(run.ours.get("uses_reference", ())):
        limits.append("uses reference information")
    return "; ".join(limits)
