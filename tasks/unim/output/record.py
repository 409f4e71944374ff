"""Reads a record of an answer file, which is checked once and later read directly."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
    DAMAGED,
    MAX_MEDIUM_BYTES,
    OWN,
    MediaPaths,
    exact_part,
    kinds_of,
    medium_inside,
    own_of,
    path_below,
)
from mmeval.media import Interleaved, Media, PartKind
from mmeval.records import Response
from mmeval.tasks.unim.data.concatenated_json import Record
from mmeval.tasks.unim.data.files import RecordFile, find_medium
from mmeval.tasks.unim.labels import field_of, names_of, number_of
from mmeval.tasks.unim.output.layout import (
    AnswerKey,
    RecordAnswer,
    key_of,
    read_record_answer,
    seal,
    tag_of,
)

_TEXT_KEY = "text"
_MAX_SHOWN = 120
_MOVED = "/"
"""The mark of a file that is found through ``media_root``. It is never a file's
path."""


@dataclass(frozen=True)
class AnswerRecord:
    """The question and answer of a record. If it has a ``fault``, all else is empty.

    ``paths`` maps the file names in the record to paths below the folder of the
    answers, or to None for a missing file. A file found through ``media_root`` has a
    mark instead of a path, so that a record does not depend on the location of its
    media. An item in ``items`` has a label, a kind, a file name or text, and a flag
    that is True for a file.
    """

    fault: str = ""
    question: str = ""
    content: str = ""
    items: tuple[tuple[str, PartKind, str, bool], ...] = ()
    paths: Mapping[str, str | None] = field(default_factory=dict)
    parts: str = ""
    left_out: tuple[PartKind, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The names of missing files."""
        return [name for name, path in self.paths.items() if path is None]

    @property
    def files(self) -> list[str]:
        """The paths of the answer's files, relative to the folder of the answers."""
        return [path for path in self.paths.values() if path not in (None, _MOVED)]

    @property
    def moved(self) -> list[str]:
        """The names of the files that are found through ``media_root``."""
        return [name for name, path in self.paths.items() if path == _MOVED]

    def to_json(self) -> list[Any]:
        return [
            self.fault,
            self.question,
            self.content,
            self.items,
            self.paths,
            self.parts,
            *self.left_out,
        ]

    @classmethod
    def from_json(cls, row: Sequence[Any]) -> AnswerRecord:
        fault, question, content, items, paths, parts, *left_out = row
        entries = tuple(tuple(item) for item in items)
        return cls(fault, question, content, entries, paths, parts, tuple(left_out))

    def response(self, root: Path, media: MediaPaths) -> Response:
        """Returns the answer.

        Raises UsageError or MissingDataError if its files have changed.
        """

        def find(name: str) -> Media | None:
            path = self.paths.get(name)
            if path is None:
                return None
            if path == _MOVED:
                return media.find(name, ())
            return medium_inside(root, path)

        if self.parts:
            parts = [exact_part(row, find) for row in _rows(self.parts)]
            output = Interleaved(tuple(parts))
        else:
            modal: dict[str, Media | str] = {}
            missing: dict[str, PartKind] = {}
            for label, kind, value, is_file in self.items:
                item = find(value) if is_file else value
                if item is None:
                    missing[label] = kind
                else:
                    modal[label] = item
            output = read_record_answer(RecordAnswer(self.content, modal), missing)
        warnings = []
        for name in self.missing:
            warnings.append(f"a file of the answer is missing: {name[:_MAX_SHOWN]!r}")
        return Response(output=output, left_out=self.left_out, warnings=tuple(warnings))


def read_key(record: Record, record_file: RecordFile) -> tuple[AnswerKey, int] | None:
    """Reads a record's question, and the number of its repeat, from 0.

    Returns None if either is missing.
    """
    faults: list[str] = []
    names = names_of(record.row, record_file.folders, faults)
    number, repeat = number_of(record.row, faults), record.row.get("repeat", 0)
    if faults or type(repeat) is not int or repeat < 0:
        return None
    return key_of(names, number), repeat


def read_answer(
    record: Record,
    record_file: RecordFile,
    media: MediaPaths,
) -> AnswerRecord:
    """Reads the answer in a record. For an invalid answer, the fault is set."""
    try:
        return _read(record, record_file, media)
    except UsageError as error:
        return AnswerRecord(fault=f"{record.where}: {error}")


def record_file_in(root: Path, file: Path) -> RecordFile:
    """Finds the folder of the records for an answer file, by field and domain.

    The field is the nearest folder with the name of a field, and the domain is the
    folder below it. Both folders may be above the folder of the answers.
    """
    for folder in file.parents:
        if field_of(folder.name):
            return RecordFile(root, folder.parent, file)
    return RecordFile(root, root, file)


def _read(
    record: Record,
    record_file: RecordFile,
    media: MediaPaths,
) -> AnswerRecord:
    """Reads the answer in a record. Raises UsageError if it is missing or invalid."""
    if record.fault:
        raise UsageError(record.fault)
    block = record.row.get("output")
    if not isinstance(block, dict) or not isinstance(block.get("content"), str):
        raise UsageError("'output' must be an object with a text under 'content'")
    content, modal = block["content"], block.get("modal") or {}
    if not isinstance(modal, dict) or not all(
        isinstance(value, str) for value in modal.values()
    ):
        raise UsageError(
            "'output.modal' must be an object that maps tags to file names or texts"
        )
    input = record.row.get("input")
    question = input.get("content") if isinstance(input, dict) else None
    if not isinstance(question, str):
        question = ""
    extra = own_of(record.row, parts=str)
    left_out = kinds_of(extra.get("left_out"))
    folders = record_file.media_folders(names_of(record.row, record_file.folders, []))
    search = _Search(record_file, folders, media)
    if extra.get("parts") and extra.get("of") == seal(content, modal):
        parts = _rows(extra["parts"])
        names = {str(part["file"]) for part in parts if "file" in part}
        paths = {name: search.path(name, OWN) for name in sorted(names)}
        return AnswerRecord(
            question=question, paths=paths, parts=extra["parts"], left_out=left_out
        )
    items: list[tuple[str, PartKind, str, bool]] = []
    texts = []
    paths = {}
    for key, value in modal.items():
        if key.lower().startswith(_TEXT_KEY):
            texts.append(value)
            continue
        tag = tag_of(key)
        if tag is None:
            raise UsageError(
                f"'output.modal.{key[:_MAX_SHOWN]}' is not a tag; write a kind and a "
                "number, such as image1"
            )
        items.append((tag.label, tag.kind, value, tag.kind != "code"))
    for label, _, value, is_file in items:
        if is_file:
            paths[value] = search.path(value, label)
    if not content.strip():
        # Keys such as text1 may repeat the text.
        content = "\n\n".join(texts) or content
    return AnswerRecord(
        question=question,
        content=content,
        items=tuple(items),
        paths=paths,
        left_out=left_out,
    )


class _Search(NamedTuple):
    """The folders in which the files of a record are looked up."""

    record_file: RecordFile
    folders: Sequence[str]
    media: MediaPaths

    def path(self, name: str, label: str) -> str | None:
        """Returns the path of a file below the folder of the answers.

        Returns None if the file is missing or outside of the folder. Raises UsageError
        if it is too large.
        """
        if self.media.is_moved(name):
            return _MOVED
        root = self.record_file.root
        try:
            medium = find_medium(path_below(name.strip(), root), root, self.folders)
        except (MissingDataError, UsageError):
            return None
        if medium is None or medium.path is None:
            return None
        if not os.access(medium.path, os.R_OK):
            return None
        if medium.path.stat().st_size > MAX_MEDIUM_BYTES:
            raise UsageError(
                f"{label}: {name[:_MAX_SHOWN]} is larger than the limit of "
                f"{MAX_MEDIUM_BYTES >> 20} MiB"
            )
        return medium.path.relative_to(root).as_posix()


def _rows(parts: str) -> list[dict[str, Any]]:
    """Reads the exact parts in mmeval's key. Raises UsageError if they are invalid."""
    try:
        rows = json.loads(parts)
    except (ValueError, RecursionError):
        rows = None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UsageError(DAMAGED)
    return rows
