"""The seal of a finished run: the states of the files that its outcome depends on.

A change of a file is noticed by its size and times, without reading the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from mmeval.system.json_lines import unsealed

_FOLDERS = ("journal", "samples", "trials", "media")
"""The folders of a run that every outcome depends on."""
CORRECTED_NUMBERS = "ratings/*/corrected.json"
"""The files of a run with corrected numbers, which its table and its page show."""

FileState = tuple[int, int, int]
"""The size of a file in bytes, and the times of the last changes of its content and of
its entry in nanoseconds. A program can set the first time, but not the second."""

States = Mapping[str, FileState | None]
"""States of files by path; None for a missing file."""


@dataclass(frozen=True)
class Seal:
    """The key of a command, and the states of the files that its outcome depends on.

    ``files`` are files of the run folder by their paths in it, so the folder may move.
    ``data`` are media of the data set by their whole paths. ``score_sets`` are the
    folders of the score rows, by their paths in the run folder.
    """

    key: str
    score_sets: tuple[str, ...]
    files: States
    data: States

    def holds(self, folder: Path) -> bool:
        """Returns True if no file was changed, added or removed."""
        paths = _files_of_run(folder, self.score_sets)
        if file_states(paths, inside=folder) != self.files:
            return False
        return file_states(map(Path, self.data)) == self.data

    def to_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "score_sets": self.score_sets,
            "files": self.files,
            "data": self.data,
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Seal:
        return cls(
            row["key"],
            tuple(row["score_sets"]),
            states_of_json(row["files"]),
            states_of_json(row["data"]),
        )


def seal_of(folder: Path, key: str, score_sets: Iterable[Path]) -> Seal:
    """Returns the seal of a run whose files are written.

    The caller holds the lock of the folder, so that no other process changes the files
    between the outcome and its seal. Raises OSError, and ValueError for a damaged line.
    """
    names = tuple(sorted(str(path.relative_to(folder)) for path in score_sets))
    paths = _files_of_run(folder, names)
    data = set(_media_of_data(folder))
    return Seal(key, names, file_states(paths, inside=folder), file_states(data))


def file_states(
    paths: Iterable[Path], *, inside: Path | None = None
) -> dict[str, FileState | None]:
    """Returns the state of each file by its path, relative to the folder ``inside``."""
    states: dict[str, FileState | None] = {}
    for path in paths:
        name = path if inside is None else path.relative_to(inside)
        try:
            status = path.stat()
        except OSError:
            states[str(name)] = None
        else:
            times = (status.st_mtime_ns, status.st_ctime_ns)
            states[str(name)] = (status.st_size, *times)
    return states


def states_of_json(row: Mapping[str, Any]) -> dict[str, FileState | None]:
    """Returns the states of files that were written as JSON."""
    states: dict[str, FileState | None] = {}
    for name, state in row.items():
        states[name] = None if state is None else (state[0], state[1], state[2])
    return states


def files_in(folder: Path) -> Iterator[Path]:
    """Yields all files below a folder, in no order; no byte code."""
    for parent, folders, names in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        for name in names:
            yield Path(parent, name)


def _files_of_run(folder: Path, score_sets: Iterable[str]) -> Iterator[Path]:
    yield folder / "run.json"
    yield from folder.glob(CORRECTED_NUMBERS)
    for name in (*_FOLDERS, *score_sets):
        yield from files_in(folder / name)


def _media_of_data(folder: Path) -> Iterator[Path]:
    """Yields the media of the run's samples that are files of a data set."""
    for samples in files_in(folder / "samples"):
        with samples.open("rb") as lines:
            for line in lines:
                # most samples have no such medium, and parsing takes most of the time
                if b'"path":' in line:
                    yield from _paths_in(unsealed(line)["sample"])


def _paths_in(sample: Mapping[str, Any]) -> Iterator[Path]:
    contents = [message["content"] for message in sample["input"]]
    contents += [*sample["references"], *sample.get("candidates", ())]
    for part in chain.from_iterable(contents):
        path = part.get("media", {}).get("path")
        if path is not None:
            yield Path(path)
