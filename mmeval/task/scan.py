"""Scan a task file for its names, by the lines that begin a top-level key.

Most files of an index are not used in a run, so the rest of them is not parsed. A file whose lines are unusual is read
in full.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.errors import TaskFileError
from mmeval.system.yaml_document import MAX_FILE_BYTES, Document, parse_document

_KEY = re.compile(r"^(task|group|tag|include)[ \t]*:(?:[ \t]+(.*?))?[ \t]*\r?$", re.MULTILINE)
_PLAIN = re.compile(r"(\w[\w./+-]*)(?:[ \t]+#.*)?", re.ASCII)
_LIST = re.compile(r"\[[ \t]*(\w[\w./+-]*(?:[ \t]*,[ \t]*\w[\w./+-]*)*)[ \t]*\](?:[ \t]+#.*)?", re.ASCII)
_UNUSUAL = re.compile(r"""^(?:["'{?&!*]|<<|---.*\S)""", re.MULTILINE)
_NOT_TEXT = re.compile(r"[-+.\d].*|(?:true|false|yes|no|on|off|null)", re.IGNORECASE)

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
        with file.open("rb") as stream:
            text = stream.read(MAX_FILE_BYTES).decode("utf-8-sig", "replace")
    except OSError as error:
        problem = TaskFileError(f"cannot be read ({error.strerror})", file=file)
        return FileScan(file, task=file.stem, problem=problem)
    return _quick(text, file) or _whole(text, file)


def _quick(text: str, file: Path) -> FileScan | None:
    """The names by their lines; None where a line has not one of the usual forms."""
    found: dict[str, tuple[str, ...]] = {}
    for key, value in _KEY.findall(text):
        if key == "task" and "group" in found:
            continue  # the members of a group, read when it is used
        names = _plain_names(value)
        if names is None and key == "task":
            found["task"] = ()
            continue
        if names is None or key in found:
            return None
        found[key] = names
    if _UNUSUAL.search(text):
        return None
    single = {key: names[0] for key, names in found.items() if key in ("task", "group") and len(names) == 1}
    if "task" in found and "task" not in single and "group" not in found:
        return None
    return FileScan(
        file,
        task="" if "group" in single else single.get("task", ""),
        group=single.get("group", ""),
        tags=found.get("tag"),
        includes=found.get("include", ()),
    )


def _plain_names(value: str) -> tuple[str, ...] | None:
    if match := _PLAIN.fullmatch(value):
        return None if _NOT_TEXT.fullmatch(match[1]) else (match[1],)
    if match := _LIST.fullmatch(value):
        names = tuple(name.strip() for name in match[1].split(","))
        return None if any(map(_NOT_TEXT.fullmatch, names)) else names
    return None


def _whole(text: str, file: Path) -> FileScan:
    try:
        document = parse_document(text, file)
    except TaskFileError as problem:
        named = [(key, names) for key, value in _KEY.findall(text) if (names := _plain_names(value))]
        guess = next((names[0] for key, names in named if key in ("task", "group")), file.stem)
        return FileScan(file, task=guess, problem=problem)
    group = _text(document, "group")
    key = "group" if "group" in document.data else "task"
    if key in document.data and not _text(document, key):
        return FileScan(file, task=file.stem, problem=document.error((key,), "must be a name; put it in quotes"))
    return FileScan(
        file,
        task="" if group else _text(document, "task"),
        group=group,
        tags=_texts(document.data["tag"]) if "tag" in document.data else None,
        includes=_texts(document.data.get("include", ())),
    )


def _text(document: Document, key: str) -> str:
    value = document.data.get(key)
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:  # any YAML value; the schema reports wrong ones
    if isinstance(value, str):
        return (value,)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
