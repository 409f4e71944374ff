"""Selects the tasks to run, and their groups, by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval.errors import (
    MissingDataError,
    TaskFileError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from mmeval.system.wording import split_names
from mmeval.task.index import TaskIndex
from mmeval.task.task import Group, GroupMetric, Selection, Task, TaskOverrides

if TYPE_CHECKING:
    from mmeval.system.yaml_document import Document, KeyPath, Problem
    from mmeval.task.file import GroupFile, TaskFile
    from mmeval.task.index import IndexEntry

_GLOB = re.compile(r"[*?\[]")
INLINE = "<task>"
"""The file name in error messages for a task that is given as a mapping."""


class ChosenTasks:
    """The tasks and groups that names select, without duplicates, in their order."""

    def __init__(self, index: TaskIndex) -> None:
        self._index = index
        self.tasks: dict[str, TaskFile] = {}
        self.groups: dict[str, Group] = {}
        self.group_files: dict[str, GroupFile] = {}

    def add(self, name: str) -> None:
        """Adds a task, group, tag, glob, file or folder."""
        self._add(name, (), lambda: self._unknown(name))

    def add_content(self, data: Mapping[str, Any]) -> None:
        """Adds a task or group from a mapping, or overrides keys of a known task."""
        from mmeval.system.yaml_document import Document, YamlPlace
        from mmeval.task.file import parse_group, parse_task

        file = Path(INLINE)
        places: dict[KeyPath, YamlPlace] = {}
        for key in data:
            places[(key,)] = YamlPlace(file, 0)
        completed = self._index.files.completed(Document(file, dict(data), places))
        if "group" in data:
            self._add_group(parse_group(completed), ())
            return
        name = data.get("task")
        entry = self._index.find(name) if isinstance(name, str) else None
        if entry is None:
            task = parse_task(completed)
            self._add_task(task.name, task)
        else:
            self._add_over(entry, completed)

    def check_group_metrics(self) -> None:
        """Raises TaskFileError for an unknown layout or number of a group."""
        for name, group in self.group_files.items():
            numbers = sorted(self._numbers(name))
            problems: list[Problem] = []
            for position, entry in enumerate(group.keys.aggregate_metric_list):
                if entry.metric not in numbers:
                    near = did_you_mean(entry.metric, numbers)
                    path = ("aggregate_metric_list", position, "metric")
                    message = f"no task of the group has {entry.metric!r}{near}"
                    problems.append((path, message))
            try:
                if group.keys.layout:
                    # imported late, since few groups name a layout
                    from mmeval.task.layout_file import layout_file

                    layout_file(group.keys.layout)
            except UnknownNameError as error:
                problems.append((("layout",), str(error)))
            if problems:
                raise group.document.errors(problems)

    def _numbers(self, name: str) -> set[str]:
        """Returns the names of the numbers of a task, or of all tasks of a group."""
        from mmeval.metric.contract import load_metric
        from mmeval.task.metric_list import numbers_of

        numbers: set[str] = set()
        if name in self.tasks:
            file = self.tasks[name]
            for entry in file.keys.metric_list:
                load_metric(entry.metric)  # raises an error for an unknown metric
                numbers.update(numbers_of(file, entry.metric))
            numbers.update(entry.number for entry in file.keys.numbers)
        else:
            for member in self.groups[name].members:
                numbers |= self._numbers(member)
        return numbers

    def _add(
        self, name: str, trail: tuple[str, ...], unknown: Callable[[], UsageError]
    ) -> list[str]:
        """Adds the tasks and groups that a name selects. Returns their names."""
        entry = self._index.find(name)
        entries = [entry] if entry is not None else self._index.tagged(name)
        is_glob = _GLOB.search(name) is not None
        if not entries and is_glob:
            entries = self._index.matching(name)
        names = [self._add_entry(item, trail) for item in entries]
        if not names and not is_glob and not trail:
            names = self.add_path(Path(name))
        if not names:
            raise unknown()
        return names

    def add_path(self, path: Path) -> list[str]:
        """Adds a task file or folder. Returns the names of the added tasks and groups.

        The members of a group are looked up next to its file, then in the index.
        """
        index = self._index
        is_folder = path.is_dir()
        if is_folder:
            entries = index.below(path)
            if not entries:
                raise UsageError(
                    f"{path}: this folder contains no task file (*.yaml with the key "
                    "task or group)"
                )
        elif path.is_file():
            entry = index.of_file(path)
            if entry is None:
                raise TaskFileError(
                    "is a template: it has neither the key task nor the key group",
                    file=path,
                )
            entries = [entry]
        else:
            return []
        if any(entry.is_group for entry in entries):
            folder = path if is_folder else path.parent
            self._index = index.with_folder(folder, deep=is_folder)
        try:
            return [self._add_entry(entry, ()) for entry in entries]
        finally:
            self._index = index

    def _unknown(self, name: str) -> UsageError:
        hint = "To list them: mmeval ls tasks '*'"
        if name.endswith((".yaml", ".yml")):
            return UsageError(f"{name}: this task file does not exist")
        if name.startswith((".", "/")):
            return UsageError(f"{name}: this folder does not exist")
        if not self._index.names():
            hint = "No task is installed; in a checkout of mmeval run: pip install -e ."
        broken = [str(problem) for problem in self._index.problems()]
        if broken:
            hint += ". These files cannot be read:\n" + "\n".join(broken)
        return UnknownNameError("task, group or tag", name, self._index.names(), hint)

    def _add_entry(self, entry: IndexEntry, trail: tuple[str, ...]) -> str:
        from mmeval.task.file import parse_group, parse_task

        document = self._index.files.document(entry.file)
        if not entry.is_group:
            return self._add_task(self._index.run_name(entry), parse_task(document))
        if entry.name in trail:
            raise TaskFileError(
                f"the group contains itself: {' -> '.join((*trail, entry.name))}",
                file=entry.file,
            )
        existing = self.group_files.get(entry.name)
        if existing is not None and existing.document.file == document.file:
            return entry.name
        return self._add_group(parse_group(document), trail)

    def _add_task(self, name: str, file: TaskFile) -> str:
        existing = self.tasks.setdefault(name, file)
        if existing.document.data != file.document.data:
            first = existing.document.place(("task",)).file
            second = file.document.place(("task",)).file
            raise file.document.error(
                ("task",),
                f"{name!r} is selected twice with different settings ({first} and "
                f"{second}); rename one",
            )
        return name

    def _add_group(self, group: GroupFile, trail: tuple[str, ...]) -> str:
        # inserted before its members, so that outer groups come first
        self.groups.setdefault(group.name, Group(group.name, group.name, ()))
        members: list[str] = []
        for path, member in group.members:
            members += self._add_member(group, path, member, (*trail, group.name))
        self.group_files[group.name] = group
        metrics: list[GroupMetric] = []
        for entry in group.keys.aggregate_metric_list:
            counts_absent = entry.absent == "zero"
            metrics.append(
                GroupMetric(entry.metric, entry.weight_by_size, counts_absent)
            )
        self.groups[group.name] = Group(
            name=group.name,
            alias=group.keys.group_alias or group.name,
            members=tuple(dict.fromkeys(members)),
            metrics=tuple(metrics),
            version=group.version,
            layout=group.keys.layout,
        )
        return group.name

    def _add_member(
        self,
        group: GroupFile,
        path: KeyPath,
        member: str | Document,
        trail: tuple[str, ...],
    ) -> list[str]:
        def unknown(name: str) -> UsageError:
            names = self._index.names()
            error = UnknownNameError("task, group or tag", name, names)
            return group.document.error(path, str(error))

        if isinstance(member, str):
            return self._add(member, trail, partial(unknown, member))
        from mmeval.task.file import parse_group, parse_task

        if "group" in member.data:
            inner = parse_group(self._index.files.completed(member))
            if inner.name in trail:
                chain = " -> ".join((*trail, inner.name))
                raise group.document.error(path, f"the group contains itself: {chain}")
            return [self._add_group(inner, trail)]
        # {task: name, ...} is a known task with other settings, or a new task that is
        # based on an include
        task_name = member.data["task"]
        name = str(task_name)
        entry = self._index.find(name) if isinstance(task_name, str) else None
        settings = self._index.files.completed(member)
        if entry is not None:
            return [self._add_over(entry, settings)]
        if "include" not in member.data:
            raise unknown(name)
        return [self._add_task(name, parse_task(settings))]

    def _add_over(self, entry: IndexEntry, settings: Document) -> str:
        """Adds a known task with some keys overridden."""
        from mmeval.task.file import parse_task

        base = self._index.files.document(entry.file)
        renamed = replace(settings.without("task").over(base), file=base.file)
        return self._add_task(self._index.run_name(entry), parse_task(renamed))


def choose(names: Sequence[str | Mapping[str, Any]], index: TaskIndex) -> ChosenTasks:
    """Selects task files by names. No plugin is loaded.

    A mapping is the content of a task or group file in the current folder. If it names
    a known task, it overrides keys of that task. Raises UnknownNameError with similar
    names, AmbiguousNameError, and TaskFileError for a broken file.
    """
    chosen = ChosenTasks(index)
    for item in names:
        if isinstance(item, Mapping):
            chosen.add_content(item)
            continue
        for name in split_names([item]):
            chosen.add(name)
    if not chosen.tasks:
        raise UsageError(
            "no task is selected; add --tasks NAME (mmeval ls tasks '*' lists them)"
        )
    return chosen


def select(
    names: Sequence[str | Mapping[str, Any]],
    include_path: Sequence[Path] = (),
    overrides: TaskOverrides | None = None,
    *,
    roles: frozenset[str] = frozenset(),
) -> Selection:
    """Selects tasks by name and builds them, without duplicates, with their groups.

    ``roles`` are the roles of the run without the model. A metric that calls another
    role is unavailable. Raises UsageError for unusable names and overrides. Raises
    MissingDataError if ``--data bundled`` finds no samples.
    """
    from mmeval.task.build import build, check_metric_names, prompt_findings
    from mmeval.task.data import bundled_folder

    changes = overrides or TaskOverrides()
    chosen = choose(names, TaskIndex(include_path))
    if changes.data == "bundled":
        without_data = [
            name for name, file in chosen.tasks.items() if bundled_folder(file) is None
        ]
        if without_data:
            message = (
                f"without bundled samples: {', '.join(without_data)}; leave out these "
                "tasks, or --data bundled"
            )
            raise MissingDataError(message, name="--data")
    metrics: set[str] = set()
    for file in chosen.tasks.values():
        metrics.update(entry.metric for entry in file.keys.metric_list)
    check_metric_names(metrics, changes)
    tasks: list[Task] = []
    for name, file in chosen.tasks.items():
        tasks.append(replace(build(file, changes, roles=roles), name=name))
    findings = prompt_findings(tasks, changes)
    chosen.check_group_metrics()
    return Selection(
        tuple(tasks),
        tuple(chosen.groups.values()),
        findings=tuple(findings),
    )
