"""Scans task files for the names in them, for the index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.errors import TaskFileError

if TYPE_CHECKING:
    from mmeval.task.include import TaskFiles

_NO_TASKS = ("__pycache__", ".egg-info", "node_modules")
_MARKS = frozenset(("run.json", "pyvenv.cfg"))
"""A folder with one of these files is a run or a virtual environment."""
_PROJECT = frozenset(("pyproject.toml", "setup.py"))


@dataclass(frozen=True, slots=True)
class FileScan:
    """The facts about a file that lists show; ``sources`` are the files it includes.

    ``problem`` is set for a file that is not readable YAML. The task's name is then the
    name of the file. ``fault`` is the error in its includes. If it is set, the other
    fields come from the file alone.
    """

    file: Path
    task: str = ""
    group: str = ""
    tags: tuple[str, ...] = ()
    version: str = ""
    license: str = ""
    sources: tuple[str, ...] = ()
    problem: TaskFileError | None = None
    fault: TaskFileError | None = None

    @property
    def name(self) -> str:
        return self.group or self.task


def yaml_files(folder: Path) -> Iterator[Path]:
    """Yields every ``**/*.yaml`` below a folder, in a fixed order.

    Links are not followed. Folders without task files are skipped: hidden folders,
    runs, environments, and build folders next to a project file.
    """
    for parent, folders, files in os.walk(folder):
        if _MARKS.intersection(files) and parent != str(folder):
            folders.clear()
            continue
        if _PROJECT.intersection(files):
            folders[:] = [name for name in folders if name not in ("build", "dist")]
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and not name.endswith(_NO_TASKS)
        )
        for name in sorted(files):
            if name.endswith(".yaml"):
                yield Path(parent, name)


def scan_file(file: Path, files: TaskFiles) -> FileScan:
    """Scans a file. Errors are returned in ``problem`` and ``fault``."""
    # imported here, since cached scans do not need its package
    from mmeval.system.yaml_document import read_document

    try:
        document = read_document(file, collect=True)
    except TaskFileError as problem:
        return FileScan(file, task=file.stem, problem=problem)
    data = document.data
    key = "group" if "group" in data else "task"
    name = data.get(key, "")
    if key in data and not (name and isinstance(name, str)):
        return FileScan(
            file,
            task=file.stem,
            problem=document.error((key,), "must be a name; put it in quotes"),
        )
    fault = None
    try:
        document = files.completed(document)
    except TaskFileError as error:
        fault = error
    # the schema reports values of other types
    metadata = document.data.get("metadata")
    if not isinstance(metadata, Mapping):
        metadata = {}
    tags = document.data.get("tag")
    if isinstance(tags, str):
        tags = [tags]
    elif not isinstance(tags, list):
        tags = []
    return FileScan(
        file,
        task=name if key == "task" else "",
        group=name if key == "group" else "",
        tags=tuple(tag for tag in tags if isinstance(tag, str)),
        version=str(metadata.get("version") or ""),
        license=str(metadata.get("license") or ""),
        sources=tuple(sorted(map(str, document.sources))),
        fault=fault,
    )
