"""Reads the result files of MME-Unify's own scripts: a question file whose rows have
the answer in fields of their own.

    {"id": 4, "category": "Text-Image_Generation", ..., "output": {"output_image": "gen/4.png"}}

What is in which field, :mod:`mmeval.tasks.mme_unify.output.fields` says. A row's task
follows from its own keys, so that files may have any name; all ``*.json`` of the
folder, and of the released folders below it, are read. An answer is found by the
question that stands in its row, since ids are not unique: by its id, and by its words
and the names of its media as far as they are there. Paths start from the file, else
from the named folder, else from the working directory. A row without a field for the
answer, or with an ``error``, has an empty one: wrong in understanding and the unify
tasks, whose scripts count all rows, and dropped in generation.

What the layout has no place for is under our own key ``mmeval`` of a row, which the
scripts do not read: the parts of an answer that its fields alone do not give back
(``parts``, sealed to them by ``of``), a failure (``error``), and the kinds that the
model was not asked for (``left_out``). Further answers to the same questions, which the
scripts do not know, are in files ``*_repeat1.json`` and so on.
"""  # noqa: E501

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from mmeval.content import Interleaved, Media, path_inside
from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
    MANIFEST,
    Absent,
    AnswerPlace,
    StoredAnswer,
    error_of,
    exact_part,
    kinds_of,
    list_of,
    medium_inside,
    model_of,
    own_of,
    read_manifest,
)
from mmeval.records import Response, Sample, digest
from mmeval.tasks.mme_unify.loader import PROMPT, TASK, question_of, task_of
from mmeval.tasks.mme_unify.output.fields import ANSWER_KEYS, answer_in, paths_in
from mmeval.wording import counted

_REPEAT = re.compile(r".+_repeat([1-9][0-9]{0,3})")
_FOLDERS = ("", "Understanding", "Generation", "U[in][in]fy_[Cc]apability/*")


class Entry(NamedTuple):
    """A row with an answer: its file, its place there, its task, itself, and our own
    key of it."""

    file: Path
    number: int
    task: str
    row: Mapping[str, Any]
    own: Mapping[str, Any]


def read_output(path: Path) -> OutputAnswers:
    """The answers of a file, or of all result files of a folder.
    Raises MissingDataError without answers, UsageError for a damaged file."""
    folder = path.parent if path.is_file() else path
    files = [path] if path.is_file() else _files(path)
    if not files:
        raise MissingDataError(
            f"{path}: no result files of MME-Unify, such as Visual_CoT.json; name "
            "their folder with path="
        )
    return OutputAnswers(folder, files)


def seal(row: Mapping[str, Any]) -> str:
    """A digest of the fields of an answer, so that parts of another one are not used
    for them."""
    return digest({key: row[key] for key in ANSWER_KEYS if key in row})


class OutputAnswers:
    """The answers of one model, in memory; media are read on demand."""

    def __init__(self, folder: Path, files: Sequence[Path]) -> None:
        self._folder = folder
        self._found: dict[tuple[object, ...], list[Entry]] = {}
        self.remarks: list[str] = []
        self._files = {file: self._read(file) for file in files}

    @property
    def model(self) -> str:
        return model_of(read_manifest(self._folder), self._folder)

    @cached_property
    def digest(self) -> str:
        """The digest of the files and of all media that there are."""
        return digest([[file.name, *self._digests(file)] for file in self._files])

    @property
    def counts(self) -> Mapping[str, int]:
        return {
            _named(file, self._folder): len(entries)
            for file, entries in self._files.items()
        }

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:  # noqa: ARG002
        entry = self._entry(sample, repeat)
        if entry is None:
            return Absent(
                f"{self._folder} has no answer to the question of {sample.id!r}"
            )
        place = AnswerPlace(_named(entry.file, self._folder), entry.number)
        try:
            response = self._response(entry)
        except UsageError as error:
            raise UsageError(f"{entry.file}, row {entry.number + 1}: {error}") from None
        return (
            Absent(response, place)
            if isinstance(response, str)
            else StoredAnswer(place, response)
        )

    def close(self) -> None:
        """Nothing is held open."""

    def _entry(self, sample: Sample, repeat: int) -> Entry | None:
        if TASK not in sample.metadata:
            return None
        task, name, words, media = _key(
            sample.metadata[TASK], question_of(sample.metadata)
        )
        for key in ((words, media), (words, None), (None, media), (None, None)):
            if found := self._found.get((repeat, task, name, *key)):
                # of equal questions the one in the same place
                at = sample.id.rpartition("/")[2]
                return next(
                    (entry for entry in found if str(entry.number) == at), found[0]
                )
        return None

    def _read(self, file: Path) -> list[Entry]:
        repeated = _REPEAT.fullmatch(file.stem)
        entries = []
        rows = list_of(file)
        for number, row in enumerate(rows):
            task = _task(row) if isinstance(row, dict) else ""
            if not task:
                continue
            try:
                entries.append(Entry(file, number, task, row, own_of(row)))
            except UsageError as error:
                raise UsageError(f"{file}, row {number + 1}: {error}") from None
            key = (int(repeated[1]) if repeated else 0, *_key(task, row))
            self._found.setdefault(key, []).append(entries[-1])
        if strange := len(rows) - len(entries):
            self.remarks.append(
                f"{file}: {counted(strange, 'row')} of no task passed over"
            )
        return entries

    def _response(self, entry: Entry) -> Response | str:
        """The answer, or why there is none. Raises UsageError for an invalid one."""
        row, own = entry.row, entry.own
        if "error" in own:
            return error_of(own["error"])
        if row.get("error"):
            return Response(output=Interleaved(()))
        left_out = kinds_of(own.get("left_out"))
        if "parts" in own and own.get("of") == seal(row):
            parts = (
                exact_part(part, lambda name: self._medium(entry.file, name))
                for part in own["parts"]
            )
            return Response(output=Interleaved(tuple(parts)), left_out=left_out)
        output = answer_in(entry.task, row, lambda name: self._medium(entry.file, name))
        return Response(output=output, left_out=left_out)

    def _medium(self, file: Path, name: str) -> Media | None:
        """The medium at a path. Raises UsageError for a path that leads out of the
        file's folder and the others."""
        fault: UsageError | None = None
        roots = (file.parent, self._folder, Path.cwd())
        for root in roots:
            inner = (
                PurePath(name).relative_to(root.absolute())
                if PurePath(name).is_relative_to(root.absolute())
                else name
            )
            try:
                return medium_inside(root, str(inner))
            except MissingDataError:
                fault = None
            except UsageError as error:
                fault = error
        if fault is not None:
            raise fault
        return None

    def _digests(self, file: Path) -> Iterator[str]:
        yield Media.from_path(file).sha256
        for entry in self._files[file]:
            parts = (
                part for part in entry.own.get("parts", ()) if isinstance(part, dict)
            )
            names = (
                *paths_in(entry.task, entry.row),
                *(str(part["file"]) for part in parts if "file" in part),
            )
            for name in dict.fromkeys(names):
                with contextlib.suppress(UsageError):
                    medium = self._medium(file, name)
                    yield "" if medium is None else medium.sha256


def _files(folder: Path) -> list[Path]:
    found = (
        file
        for inner in _FOLDERS
        for file in sorted(folder.glob(f"{inner}/*.json" if inner else "*.json"))
    )
    named = [
        file.relative_to(folder).as_posix()
        for file in found
        if file.name != MANIFEST and file.is_file()
    ]
    return [path_inside(folder, name) for name in named]


def _named(file: Path, folder: Path) -> str:
    return file.relative_to(folder).as_posix()


def _task(row: Mapping[str, Any]) -> str:
    """The task of a row, by its keys; empty for none."""
    found = row.get("data")
    data: Mapping[str, Any] = found if isinstance(found, dict) else {}
    told = {"Action": "vcot", "img_a": "sd", "image_Auxiliary_lines": "al"}
    if task := next((task for key, task in told.items() if key in data), ""):
        return task
    if "choice" in row and "data" in row:
        return "iee" if "edited_image" in data else "csq"
    return task_of("understanding", row.get("category")) or task_of(
        "generation", row.get("category")
    )


def _key(
    task: str, row: Mapping[str, Any]
) -> tuple[str, str, str | None, tuple[str, ...] | None]:
    """What names a question: its task, id, words and the names of its media; None for
    what is not in the row."""
    words, data = row.get("question", row.get(PROMPT)), row.get("data")
    paths = row.get("image", list(data.values()) if isinstance(data, dict) else None)
    media = (
        tuple(PurePath(path).stem for path in paths if isinstance(path, str))
        if isinstance(paths, list)
        else None
    )
    return (
        task,
        str(row.get("question_id", row.get("id"))),
        words if isinstance(words, str) else None,
        media,
    )
