"""Index of tasks: the task files of installed packages and of ``--include_path``.

    selection = select(["unit_*", "my_group"], include_path=[Path("my_tasks")])

A name is a task, a group, a tag, a glob over these, ``benchmark/task`` (the entry
point's name and the task's), a task file, or a folder.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval import plugins
from mmeval.errors import AmbiguousNameError, TaskFileError, UsageError
from mmeval.plugins import package_folder
from mmeval.task.scan import scan_file, yaml_files
from mmeval.task.scan_cache import ScanCache

if TYPE_CHECKING:
    from mmeval.task.include import TaskFiles

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndexEntry:
    """One task or group of the index.

    ``benchmark`` is the name of its entry point, empty for a file of
    ``--include_path``; ``owner`` is the distribution, or the folder. ``problem`` is set
    for a file that cannot be read, ``fault`` for one whose includes cannot.
    """

    name: str
    is_group: bool
    file: Path
    benchmark: str
    owner: str
    tags: tuple[str, ...] = ()
    problem: TaskFileError | None = None
    version: str = ""
    license: str = ""
    fault: TaskFileError | None = None

    @property
    def full_name(self) -> str:
        return f"{self.benchmark}/{self.name}" if self.benchmark else self.name


@dataclass(frozen=True)
class _Root:
    folder: Path
    benchmark: str
    owner: str
    rank: int
    """0 for a package; later folders of ``--include_path`` have higher ranks and
    win."""
    deep: bool = True
    """Whether files of the folders below it count."""

    def files(self) -> Iterator[Path]:
        return (
            yaml_files(self.folder)
            if self.deep
            else iter(sorted(self.folder.glob("*.yaml")))
        )


class TaskIndex:
    """All names that ``--tasks`` accepts, by a scan of each file, which is kept between
    calls."""

    def __init__(
        self, include_path: Sequence[Path] = (), *, roots: Sequence[_Root] | None = None
    ) -> None:
        self._roots = (
            [*_package_roots(), *_include_roots(include_path)]
            if roots is None
            else list(roots)
        )
        self._warned: set[str] = set()

    def with_folder(self, folder: Path, *, deep: bool) -> TaskIndex:
        """Add a folder whose files win, as of ``--include_path``; recursively if
        ``deep``."""
        rank = max((root.rank for root in self._roots), default=0) + 1
        return TaskIndex(
            roots=[*self._roots, _Root(folder, "", str(folder), rank, deep)]
        )

    @cached_property
    def files(self) -> TaskFiles:
        """The reader of the files of this index, with their includes."""
        return self._reader()

    def _reader(self) -> TaskFiles:
        from mmeval.task.include import TaskFiles

        return TaskFiles([root.folder for root in self._roots])

    @cached_property
    def _claims(self) -> dict[str, list[tuple[int, IndexEntry]]]:
        """Every claim to a name, with its rank."""
        claims: dict[str, list[tuple[int, IndexEntry]]] = {}
        seen: set[str] = set()
        for root in self._roots:
            files = _by_place(root.files())  # one folder may be registered twice
            cache = ScanCache(root.folder)
            for entry in self._entries(
                [file for key, file in files.items() if key not in seen], root, cache
            ):
                claims.setdefault(entry.name, []).append((root.rank, entry))
            cache.save()
            seen.update(files)
        return claims

    def entries(self) -> list[IndexEntry]:
        """All tasks and groups by name, not those overridden; all of those that
        clash."""
        found = [
            entry for name in sorted(self._claims) for entry in self._winners(name)
        ]
        return sorted(
            found, key=lambda entry: (entry.name, entry.benchmark, entry.owner)
        )

    def listing(self) -> Iterator[IndexEntry]:
        """``entries``, those whose includes cannot be read with that as their
        problem."""
        for entry in self.entries():
            yield (
                replace(entry, problem=entry.fault)
                if entry.fault and not entry.problem
                else entry
            )

    def tags(self) -> dict[str, list[IndexEntry]]:
        """The entries of each tag."""
        tagged: dict[str, list[IndexEntry]] = {}
        for entry in self.entries():
            for tag in entry.tags:
                tagged.setdefault(tag, []).append(entry)
        return dict(sorted(tagged.items()))

    def names(self) -> list[str]:
        """Every name that selects something, ``benchmark/task`` left out."""
        return sorted({*self._claims, *self.tags()})

    def find(self, name: str) -> IndexEntry | None:
        """The task or group of a name, also ``benchmark/task``; None when there is
        none. Raises AmbiguousNameError when two packages, or two files of one, claim
        it."""
        benchmark, _, short = name.rpartition("/")
        winners = self._winners(short)
        if benchmark:
            winners = [
                entry
                for _, entry in self._claims.get(short, [])
                if entry.benchmark == benchmark
            ]
        if not winners:
            return None
        if len(winners) > 1:
            raise AmbiguousNameError(_clash(name, winners))
        if not benchmark:
            self._warn_of_override(name, winners[0])
        return winners[0]

    def matching(self, pattern: str) -> list[IndexEntry]:
        """The entries whose name, or ``benchmark/name``, fits a glob."""
        found = [
            e
            for e in self.entries()
            if fnmatchcase(e.name, pattern) or fnmatchcase(e.full_name, pattern)
        ]
        return self._with_warnings(found)

    def tagged(self, tag: str) -> list[IndexEntry]:
        """The entries of a tag."""
        return self._with_warnings(self.tags().get(tag, []))

    def below(self, folder: Path) -> list[IndexEntry]:
        """The entries of a folder, whether or not it belongs to the index."""
        return list(
            self._entries(yaml_files(folder), _Root(folder, "", str(folder), 0))
        )

    def of_file(self, file: Path) -> IndexEntry | None:
        """The entry of a file, also of one outside the index; None for a template."""
        return next(
            self._entries([file], _Root(file.parent, "", str(file.parent), 0)), None
        )

    def problems(self) -> list[TaskFileError]:
        """The faults of files whose names could not be read."""
        return [
            e.problem
            for claims in self._claims.values()
            for _, e in claims
            if e.problem is not None
        ]

    def run_name(self, entry: IndexEntry) -> str:
        """The name of a task in results; ``benchmark/name`` where two packages have
        it."""
        rivals = self._winners(entry.name)
        return (
            entry.full_name
            if len(rivals) > 1 or (rivals and entry not in rivals and entry.benchmark)
            else entry.name
        )

    def _entries(
        self, files: Iterable[Path], root: _Root, cache: ScanCache | None = None
    ) -> Iterator[IndexEntry]:
        """The tasks and groups among files. Others are templates, which may have
        tags."""
        # not ``files``, whose errors name a file as the user does
        reader = self._reader()
        for file in files:
            scan = None if cache is None else cache.scan(file)
            if scan is None:
                scan = scan_file(file, reader)
                if cache is not None:
                    cache.add(scan)
            if scan.name or scan.problem:
                yield IndexEntry(
                    scan.name,
                    bool(scan.group),
                    file,
                    root.benchmark,
                    root.owner,
                    scan.tags,
                    scan.problem,
                    scan.version,
                    scan.license,
                    scan.fault,
                )

    def _winners(self, name: str) -> list[IndexEntry]:
        claims = self._claims.get(name, [])
        best = max((rank for rank, _ in claims), default=0)
        return [entry for rank, entry in claims if rank == best]

    def _with_warnings(self, chosen: list[IndexEntry]) -> list[IndexEntry]:
        for entry in chosen:
            if len(self._winners(entry.name)) == 1:
                self._warn_of_override(entry.name, entry)
        return chosen

    def _warn_of_override(self, name: str, winner: IndexEntry) -> None:
        losers = [entry for _, entry in self._claims[name] if entry != winner]
        if losers and name not in self._warned:
            self._warned.add(name)
            _log.warning(
                "%s is read from %s, which overrides %s",
                name,
                winner.file,
                losers[-1].file,
            )


def _clash(name: str, rivals: Sequence[IndexEntry]) -> str:
    owners = " and ".join(sorted(f"{entry.owner} ({entry.file})" for entry in rivals))
    full = sorted({entry.full_name for entry in rivals})
    advice = "rename one, or remove one"
    if len(full) > 1:
        advice = f"write {' or '.join(full)}"
    return f"{name!r} is claimed by {owners}; {advice}"


def _package_roots() -> Iterator[_Root]:
    for entry in plugins.entries("mmeval.tasks"):
        folder = package_folder(entry.value)
        if folder is None:
            _log.warning(
                "the tasks %r of %s are missing: no package %s; reinstall or remove "
                "that package",
                entry.name,
                plugins.distribution_of(entry),
                entry.value,
            )
            continue
        yield _Root(folder, entry.name, plugins.distribution_of(entry), 0)


def _include_roots(include_path: Sequence[Path]) -> Iterator[_Root]:
    for rank, folder in enumerate(include_path, start=1):
        if not folder.is_dir():
            raise UsageError(
                f"--include_path {folder}: there is no such folder",
                name="--include_path",
            )
        yield _Root(folder, "", str(folder), rank)


def _by_place(files: Iterable[Path]) -> dict[str, Path]:
    """Files by where they really are. Each folder is resolved once, not with every
    file."""
    resolved: dict[Path, str] = {}
    found: dict[str, Path] = {}
    for file in files:
        folder = resolved.get(file.parent)
        if folder is None:
            folder = resolved[file.parent] = os.path.realpath(file.parent)
        place = f"{folder}{os.sep}{file.name}"
        found[os.path.realpath(place) if file.is_symlink() else place] = file
    return found
