"""The states of files, by which a change is noticed without reading them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

FileState = tuple[int, int]
"""The size of a file in bytes, and the time of its last change in nanoseconds."""


def file_states(paths: Iterable[Path]) -> dict[str, FileState]:
    """Returns the state of each file by its path. Missing files are left out."""
    states: dict[str, FileState] = {}
    for path in paths:
        state = _state(path)
        if state is not None:
            states[str(path)] = state
    return states


def are_unchanged(states: Mapping[str, Iterable[int]]) -> bool:
    """Returns True if each file still has its recorded state."""
    return all(_state(path) == tuple(state) for path, state in states.items())


def files_in(folder: Path, *, ending: str = "") -> Iterator[Path]:
    """Yields all files below a folder whose names have this ending, in no order."""
    for parent, _, names in os.walk(folder):
        for name in names:
            if name.endswith(ending):
                yield Path(parent, name)


def _state(path: str | Path) -> FileState | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns
