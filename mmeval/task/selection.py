"""Select by names: the tasks to run, once each, and the groups to report them in."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval import plugins
from mmeval.errors import (
    MissingDataError,
    TaskFileError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from mmeval.system.wording import split_names
from mmeval.task.index import TaskIndex
from mmeval.task.task import Group, GroupMetric, Selection, TaskOverrides

if TYPE_CHECKING:
    from mmeval.system.yaml_document import Document, KeyPath, Problem
    from mmeval.task.file import GroupFile, TaskFile
    from mmeval.task.index import IndexEntry

_GLOB = re.compile(r"[*?\[]")
INLINE = "<task>"
"""The file name in messages of a task that was given as a mapping."""


class ChosenTasks:
    """The tasks and groups that names select, once each, in the order of the names."""

    def __init__(self, index: TaskIndex) -> None:
        self._index = index
        self.tasks: dict[str, TaskFile] = {}
        self.groups: dict[str, Group] = {}
        self.group_files: dict[str, GroupFile] = {}

    def add(self, name: str) -> None:
        """Add a task, group, tag, glob, file or folder."""
        self._add(name, (), lambda: self._unknown(name))

    def add_content(self, data: Mapping[str, Any]) -> None:
        """Add a task or group as a file in this folder; a known task gets these
        keys."""
        from mmeval.system.yaml_document import Document, YamlPlace
        from mmeval.task.file import parse_group, parse_task

        file = Path(INLINE)
        document = Document(
            file, dict(data), {(key,): YamlPlace(file, 0) for key in data}
        )
        if "group" in data:
            self._add_group(parse_group(self._index.files.completed(document)), ())
            return
        name = data.get("task")
        entry = self._index.find(name) if isinstance(name, str) else None
        completed = self._index.files.completed(document)
        if entry is None:
            task = parse_task(completed)
            self._add_task(task.name, task)
        else:
            self._add_over(entry, completed)

    def check_group_metrics(self) -> None:
        """Raises TaskFileError for a group's unknown layout or number that no task
        has."""
        for name, group in self.group_files.items():
            known = sorted(self._numbers(name))
            problems: list[Problem] = [
                (
                    ("aggregate_metric_list", i, "metric"),
                    "no task of the group has "
                    f"{m.metric!r}{did_you_mean(m.metric, known)}",
                )
                for i, m in enumerate(group.keys.aggregate_metric_list)
                if m.metric not in known
            ]
            try:
                if group.keys.layout:
                    plugins.load("mmeval.layouts", group.keys.layout)
            except UnknownNameError as error:
                problems.append((("layout",), str(error)))
            if problems:
                raise group.document.errors(problems)

    def _numbers(self, name: str) -> set[str]:
        """The names of the numbers of a task, or of all tasks of a group."""
        from mmeval.metric.contract import load_metric
        from mmeval.task.metric_list import numbers_of

        if name in self.tasks:
            file = self.tasks[name]
            outputs: set[str] = set()
            for entry in file.keys.metric_list:
                load_metric(entry.metric)  # raises for one that is not there
                outputs.update(numbers_of(file, entry.metric))
            return outputs | {entry.number for entry in file.keys.numbers}
        return {
            number
            for member in self.groups[name].members
            for number in self._numbers(member)
        }

    def _add(
        self, name: str, trail: tuple[str, ...], unknown: Callable[[], UsageError]
    ) -> list[str]:
        """Add what a name selects; return the names of its tasks and groups."""
        entry = self._index.find(name)
        if entry is not None:
            return [self._add_entry(entry, trail)]
        tagged = self._index.tagged(name)
        if tagged:
            return [self._add_entry(item, trail) for item in tagged]
        if _GLOB.search(name):
            found = [
                self._add_entry(item, trail) for item in self._index.matching(name)
            ]
        else:
            found = self.add_path(Path(name)) if not trail else []
        if not found:
            raise unknown()
        return found

    def add_path(self, path: Path) -> list[str]:
        """Add a task file or folder; return the names of its tasks and groups.

        The members of a group are looked up beside its file, then in the index.
        """
        entries = self._by_path(path)
        index = self._index
        if any(entry.is_group for entry in entries):
            deep = path.is_dir()
            self._index = index.with_folder(path if deep else path.parent, deep=deep)
        try:
            return [self._add_entry(entry, ()) for entry in entries]
        finally:
            self._index = index

    def _by_path(self, path: Path) -> list[IndexEntry]:
        if path.is_dir():
            found = self._index.below(path)
            if not found:
                raise UsageError(
                    f"{path}: there is no task file (*.yaml with the key task or "
                    "group) in this folder"
                )
            return found
        if not path.is_file():
            return []
        entry = self._index.of_file(path)
        if entry is None:
            raise TaskFileError(
                "is a template: it has neither the key task nor the key group",
                file=path,
            )
        return [entry]

    def _unknown(self, name: str) -> UsageError:
        hint = "To list them: mmeval ls tasks '*'"
        if name.endswith((".yaml", ".yml")):
            return UsageError(f"{name}: there is no such task file")
        if name.startswith((".", "/")):
            return UsageError(f"{name}: there is no such folder")
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
                f"the group holds itself: {' -> '.join((*trail, entry.name))}",
                file=entry.file,
            )
        known = self.group_files.get(entry.name)
        if known is not None and known.document.file == document.file:
            return entry.name
        return self._add_group(parse_group(document), trail)

    def _add_task(self, name: str, file: TaskFile) -> str:
        known = self.tasks.setdefault(name, file)
        if known.document.data != file.document.data:
            places = " and ".join(
                str(f.document.place(("task",)).file) for f in (known, file)
            )
            raise file.document.error(
                ("task",),
                f"{name!r} is asked for twice with different settings ({places}); "
                "rename one",
            )
        return name

    def _add_group(self, group: GroupFile, trail: tuple[str, ...]) -> str:
        # Reserved before its members, so that outer groups come before inner ones.
        self.groups.setdefault(group.name, Group(group.name, group.name, ()))
        members: list[str] = []
        for path, member in group.members:
            members += self._add_member(group, path, member, (*trail, group.name))
        self.group_files[group.name] = group
        self.groups[group.name] = Group(
            name=group.name,
            alias=group.keys.group_alias or group.name,
            members=tuple(dict.fromkeys(members)),
            metrics=tuple(
                GroupMetric(
                    m.metric, m.weight_by_size, counts_absent=m.absent == "zero"
                )
                for m in group.keys.aggregate_metric_list
            ),
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
        if isinstance(member, str):
            return self._add(
                member, trail, lambda: self._unknown_member(group, path, member)
            )
        from mmeval.task.file import parse_group

        if "group" not in member.data:
            return [self._add_override(group, path, member)]
        inner = parse_group(self._index.files.completed(member))
        if inner.name in trail:
            raise group.document.error(
                path, f"the group holds itself: {' -> '.join((*trail, inner.name))}"
            )
        return [self._add_group(inner, trail)]

    def _add_override(self, group: GroupFile, path: KeyPath, member: Document) -> str:
        """``{task: name, ...}``: that task with other settings, or one on an
        ``include``."""
        from mmeval.task.file import parse_task

        name = member.data["task"]
        entry = self._index.find(name) if isinstance(name, str) else None
        own = self._index.files.completed(member)
        if entry is None:
            if "include" not in member.data:
                raise self._unknown_member(group, path, str(name))
            return self._add_task(str(name), parse_task(own))
        return self._add_over(entry, own)

    def _add_over(self, entry: IndexEntry, own: Document) -> str:
        """A known task with other settings."""
        from mmeval.task.file import parse_task

        base = self._index.files.document(entry.file)
        renamed = own.without("task").over(base)
        return self._add_task(
            self._index.run_name(entry), parse_task(replace(renamed, file=base.file))
        )

    def _unknown_member(self, group: GroupFile, path: KeyPath, name: str) -> UsageError:
        return group.document.error(
            path, str(UnknownNameError("task, group or tag", name, self._index.names()))
        )


def choose(names: Sequence[str | Mapping[str, Any]], index: TaskIndex) -> ChosenTasks:
    """Select task files by names; nothing is built, no plugin is loaded.

    A mapping is the content of a task or group file of the current folder; one that
    names a known task changes that task's keys. Raises UnknownNameError with near
    names, AmbiguousNameError, and TaskFileError for a broken file.
    """
    chosen = ChosenTasks(index)
    for wanted in names:
        if isinstance(wanted, Mapping):
            chosen.add_content(wanted)
            continue
        for name in split_names([wanted]):
            chosen.add(name)
    if not chosen.tasks:
        raise UsageError(
            "no task is named; give --tasks NAME (mmeval ls tasks '*' lists them)"
        )
    return chosen


def select(
    names: Sequence[str | Mapping[str, Any]],
    include_path: Sequence[Path] = (),
    overrides: TaskOverrides | None = None,
    *,
    roles: frozenset[str] = frozenset(),
) -> Selection:
    """Select by names: the tasks, ready to run, once each, and the groups to report.

    ``roles`` are the roles that the run has besides the model; a metric that asks
    another role is unavailable. Raises UsageError for names and overrides that cannot
    be used, MissingDataError where ``--data bundled`` has no samples.
    """
    from mmeval.task.build import build, check_metric_names, check_prompt_names
    from mmeval.task.data import bundled_folder

    given = overrides or TaskOverrides()
    chosen = choose(names, TaskIndex(include_path))
    if given.data == "bundled":
        lacking = [
            name for name, file in chosen.tasks.items() if bundled_folder(file) is None
        ]
        if lacking:
            message = (
                f"no bundled samples: {', '.join(lacking)}; leave these out, or leave "
                "out --data bundled"
            )
            raise MissingDataError(message, name="--data")
    check_metric_names(
        {m.metric for file in chosen.tasks.values() for m in file.keys.metric_list},
        given,
    )
    tasks = [
        replace(build(file, given, roles=roles), name=name)
        for name, file in chosen.tasks.items()
    ]
    check_prompt_names(tasks, given)
    chosen.check_group_metrics()
    return Selection(tuple(tasks), tuple(chosen.groups.values()))
