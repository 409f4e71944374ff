"""The index of tasks: task files of installed packages and of ``--include_path``.

    selection = select(["unit_*", "my_group"], include_path=[Path("my_tasks")])

A name selects by task, group or tag, by a glob over these names, ``benchmark/task``
(the entry point's name and the task's), a task file, or a folder.
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
    """A task or group of the index.

    ``benchmark`` is the name of its entry point. This name is empty for a file of
    ``--include_path``. ``owner`` is the distribution or the folder. ``problem`` is the
    error of a file that cannot be read. ``fault`` is the error in its includes.
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
    """0 for a package. Later folders of ``--include_path`` have higher ranks, and the
    highest rank wins."""
    deep: bool = True
    """True if the root also contains the files in subfolders."""

    def files(self) -> Iterable[Path]:
        if self.deep:
            return yaml_files(self.folder)
        return sorted(self.folder.glob("*.yaml"))


class TaskIndex:
    """All names that ``--tasks`` accepts. They come from cached scans of task files."""

    def __init__(
        self, include_path: Sequence[Path] = (), *, roots: Sequence[_Root] | None = None
    ) -> None:
        self._roots = list(_package_roots() if roots is None else roots)
        for rank, folder in enumerate(include_path, start=1):
            if not folder.is_dir():
                raise UsageError(
                    f"--include_path {folder}: this folder does not exist",
                    name="--include_path",
                )
            self._roots.append(_Root(folder, "", str(folder), rank))
        self._warned: set[str] = set()

    def with_folder(self, folder: Path, *, deep: bool) -> TaskIndex:
        """Returns the index with one more folder, which overrides all others.

        With ``deep``, the index also contains the files in subfolders.
        """
        ranks = [root.rank for root in self._roots]
        rank = max(ranks, default=0) + 1
        added = _Root(folder, "", str(folder), rank, deep)
        return TaskIndex(roots=[*self._roots, added])

    @cached_property
    def files(self) -> TaskFiles:
        """The reader of the files of this index, with their includes."""
        return self._reader()

    def _reader(self) -> TaskFiles:
        from mmeval.task.include import TaskFiles

        return TaskFiles([root.folder for root in self._roots])

    @cached_property
    def _claims(self) -> dict[str, list[tuple[int, IndexEntry]]]:
        """All entries by name, each with its rank."""
        claims: dict[str, list[tuple[int, IndexEntry]]] = {}
        known_places: set[str] = set()
        for root in self._roots:
            files = _by_place(root.files())  # a folder may be registered twice
            new = [file for place, file in files.items() if place not in known_places]
            known_places.update(files)
            cache = ScanCache(root.folder)
            for entry in self._entries(new, root, cache):
                claims.setdefault(entry.name, []).append((root.rank, entry))
            cache.save()
        return claims

    def entries(self) -> list[IndexEntry]:
        """Returns all tasks and groups, sorted by name.

        Overridden entries are left out. If entries clash, all of them are included.
        """
        entries: list[IndexEntry] = []
        for name in sorted(self._claims):
            entries += sorted(
                self._winners(name), key=lambda entry: (entry.benchmark, entry.owner)
            )
        return entries

    def listing(self) -> Iterator[IndexEntry]:
        """Yields the ``entries``, with the errors of includes in ``problem``."""
        for entry in self.entries():
            yield replace(entry, problem=entry.problem or entry.fault)

    def tags(self) -> dict[str, list[IndexEntry]]:
        """Returns the entries with each tag, by tag."""
        tagged: dict[str, list[IndexEntry]] = {}
        for entry in self.entries():
            for tag in entry.tags:
                tagged.setdefault(tag, []).append(entry)
        return dict(sorted(tagged.items()))

    def names(self) -> list[str]:
        """Returns every name that selects something, without ``benchmark/task``."""
        return sorted({*self._claims, *self.tags()})

    def find(self, name: str) -> IndexEntry | None:
        """Returns the task or group with a name or ``benchmark/name``; None if unknown.

        Raises AmbiguousNameError if two packages, or two files of a package, have this
        name.
        """
        benchmark, _, short = name.rpartition("/")
        winners = self._winners(short)
        if benchmark:
            claims = [entry for _, entry in self._claims.get(short, [])]
            winners = [entry for entry in claims if entry.benchmark == benchmark]
        if not winners:
            return None
        if len(winners) > 1:
            rivals = sorted(f"{entry.owner} ({entry.file})" for entry in winners)
            full = sorted({entry.full_name for entry in winners})
            advice = "rename one, or remove one"
            if len(full) > 1:
                advice = f"write {' or '.join(full)}"
            raise AmbiguousNameError(
                f"{name!r} is claimed by {' and '.join(rivals)}; {advice}"
            )
        if not benchmark:
            self._warn_of_override(name, winners[0])
        return winners[0]

    def matching(self, pattern: str) -> list[IndexEntry]:
        """Returns the entries whose name, or ``benchmark/name``, matches a glob."""
        matches: list[IndexEntry] = []
        for entry in self.entries():
            if fnmatchcase(entry.name, pattern) or fnmatchcase(
                entry.full_name, pattern
            ):
                matches.append(entry)
        return self._with_warnings(matches)

    def tagged(self, tag: str) -> list[IndexEntry]:
        """Returns the entries that have a tag."""
        return self._with_warnings(self.tags().get(tag, []))

    def below(self, folder: Path) -> list[IndexEntry]:
        """Returns the entries in a folder, which may be outside the index."""
        root = _Root(folder, "", str(folder), 0)
        return list(self._entries(root.files(), root))

    def of_file(self, file: Path) -> IndexEntry | None:
        """Returns the entry of a file, or None if the file is a template.

        The file may be outside the index.
        """
        root = _Root(file.parent, "", str(file.parent), 0)
        return next(self._entries([file], root), None)

    def problems(self) -> list[TaskFileError]:
        """Returns the errors of files that cannot be read."""
        problems: list[TaskFileError] = []
        for claims in self._claims.values():
            for _, entry in claims:
                if entry.problem is not None:
                    problems.append(entry.problem)
        return problems

    def run_name(self, entry: IndexEntry) -> str:
        """Returns the name of a task in results.

        The name is ``benchmark/name`` if two packages have a task of this name.
        """
        rivals = self._winners(entry.name)
        is_overridden = rivals and entry not in rivals and entry.benchmark
        return entry.full_name if len(rivals) > 1 or is_overridden else entry.name

    def _entries(
        self, files: Iterable[Path], root: _Root, cache: ScanCache | None = None
    ) -> Iterator[IndexEntry]:
        """Yields the tasks and groups in files. Other files are templates."""
        # ``files`` caches documents, and their errors show the paths of the user: a new
        # reader keeps the paths of this scan out of that cache
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


def _package_roots() -> Iterator[_Root]:
    for entry in plugins.entries("mmeval.tasks"):
        folder = package_folder(entry.value)
        if folder is None:
            _log.warning(
                "the tasks %r of %s are missing: the package %s does not exist; "
                "reinstall or remove it",
                entry.name,
                plugins.distribution_of(entry),
                entry.value,
            )
            continue
        yield _Root(folder, entry.name, plugins.distribution_of(entry), 0)


def _by_place(files: Iterable[Path]) -> dict[str, Path]:
    """Maps resolved paths to files. Each folder is resolved once."""
    resolved: dict[str, str] = {}
    by_path: dict[str, Path] = {}
    for file in files:
        # every command does this for hundreds of files: strings take a third of the
        # time of Path objects
        parent, name = os.path.split(file)
        folder = resolved.get(parent)
        if folder is None:
            folder = resolved[parent] = os.path.realpath(parent)
        place = os.path.join(folder, name)  # noqa: PTH118
        by_path[os.path.realpath(place) if os.path.islink(place) else place] = file  # noqa: PTH114
    return by_path
