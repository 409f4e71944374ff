"""Scan task files for the names in them, for the index; a broken file keeps the name that it probably has."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.errors import TaskFileError
from mmeval.plain_file import open_plain
from mmeval.system.yaml_document import MAX_FILE_BYTES, read_document

_NAME = re.compile(r"^(?:task|group)[ \t]*:[ \t]*(?!(?i:yes|no|on|off)\b)([A-Za-z_][\w./+-]*)", re.MULTILINE)
_HIDDEN_KEY = re.compile(r"""^(?:["'{?&!*]|(?:task|group)[ \t]*:)""", re.MULTILINE)
"""A line that may give a name, in a form that cannot be read without the rest of the file."""

_NO_TASKS = ("__pycache__", ".egg-info", "node_modules")
_MARKS = frozenset(("run.json", "pyvenv.cfg"))
"""A folder with one of these is a run, or a virtual environment."""
_PROJECT = frozenset(("pyproject.toml", "setup.py"))


@dataclass(frozen=True, slots=True)
class FileScan:
    """The names in a file. ``tags`` is None if only an included file may have some.
    ``problem`` is set for a file that is not readable YAML; its name is then a guess, or empty."""

    file: Path
    task: str = ""
    group: str = ""
    tags: tuple[str, ...] | None = None
    includes: tuple[str, ...] = ()
    problem: TaskFileError | None = None

    @property
    def name(self) -> str:
        return self.group or self.task


def yaml_files(folder: Path) -> Iterator[Path]:
    """Every ``**/*.yaml`` below a folder, in a fixed order. Links are not followed.
    Folders that hold no task files are passed over: hidden ones, runs, environments, and the folders of a build beside
    its project file."""
    for parent, folders, files in os.walk(folder):
        if _MARKS.intersection(files) and parent != str(folder):
            folders.clear()
            continue
        built = ("build", "dist") if _PROJECT.intersection(files) else ()
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and not name.endswith(_NO_TASKS) and name not in built
        )
        for name in sorted(files):
            if name.endswith(".yaml"):
                yield Path(parent, name)


def scan_file(file: Path) -> FileScan:
    """Scan a file. Never raises: a fault is in ``problem``, for when the file is used."""
    try:
        document = read_document(file)
    except TaskFileError as problem:
        name = _probable_name(file)
        return FileScan(file, task=name, problem=problem if name else None)
    data = document.data
    key = "group" if "group" in data else "task"
    name = data.get(key, "")
    if key in data and not (name and isinstance(name, str)):
        return FileScan(file, task=file.stem, problem=document.error((key,), "must be a name; put it in quotes"))
    return FileScan(
        file,
        task=name if key == "task" else "",
        group=name if key == "group" else "",
        tags=_texts(data["tag"]) if "tag" in data else None,
        includes=_texts(data.get("include", ())),
    )


def _probable_name(file: Path) -> str:
    """The name of a broken file by its line; empty where no key names it, as in a template."""
    try:
        with open_plain(file) as stream:
            text = stream.read(MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return file.stem
    if found := _NAME.search(text):
        return found[1]
    return file.stem if _HIDDEN_KEY.search(text) else ""


def _texts(value: Any) -> tuple[str, ...]:  # any YAML value; the schema reports wrong ones
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
