"""Reads the result files of MME-Unify's own scripts: a question file whose rows have
the answer in fields of their own.

    {"id": 4, "category": "Text-Image_Generation", ..., "output": {"output_image": "gen/4.png"}}

What is in which field, :mod:`mmeval.tasks.mme_unify.output.fields` says. A row's task
follows from its own keys, so that files may have any name; all ``*.json`` of the
folder, and of the released folders below it, are read. An answer is found by the
question that stands in its row, since ids are not unique: by its id, and by its words
and the names of its media as far as they are there. Paths start from the file, else
from the named folder, else from the working directory; a missing file is a part without
a medium. A row without a field for the answer, or with an ``error``, has an empty one: wrong in understanding and the unify
tasks, whose scripts count all rows, and dropped in generation.

What the layout has no place for is under our own key ``mmeval`` of a row, which the
scripts do not read: the parts of an answer that its fields alone do not give back
(``parts``, sealed to them by ``of``), a failure (``error``), and the kinds that the
model was not asked for (``left_out``). Further answers to the same questions, which the
scripts do not know, are in files ``*_repeat1.json`` and so on.
"""  # noqa: E501

from __future__ import annotations

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
    MediaPaths,
    MediaRoot,
    StoredAnswer,
    error_of,
    exact_files,
    exact_part,
    kinds_of,
    list_of,
    missing_remarks,
    model_of,
    own_of,
    read_manifest,
)
from mmeval.records import Response, Sample, digest
from mmeval.tasks.mme_unify.loader import PROMPT, TASK, question_of, task_of
from mmeval.tasks.mme_unify.output.fields import ANSWER_KEYS, answer_in, paths_in

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


def read_output(path: Path, media_root: MediaRoot = ()) -> OutputAnswers:
    """The answers of a file, or of all result files of a folder.
    ``media_root``: see :class:`mmeval.interchange.MediaPaths`. Raises MissingDataError
    without answers, UsageError for a damaged file."""
    media = MediaPaths(media_root)
    folder = path.parent if path.is_file() else path
    files = [path] if path.is_file() else _files(path)
    if not files:
        raise MissingDataError(
            f"{path}: no result files of MME-Unify, such as Visual_CoT.json; name "
            "their folder with path="
        )
    return OutputAnswers(folder, files, media)


def seal(row: Mapping[str, Any]) -> str:
    """A digest of the fields of an answer, so that parts of another one are not used
    for them."""
    return digest({key: row[key] for key in ANSWER_KEYS if key in row})


class OutputAnswers:
    """The answers of one model, in memory; media are read on demand."""

    def __init__(self, folder: Path, files: Sequence[Path], media: MediaPaths) -> None:
        self._folder, self._media = folder, media
        self._found: dict[tuple[object, ...], list[Entry]] = {}
        self.remarks: list[str] = []
        self._files = {file: self._read(file) for file in files}
        self.remarks += missing_remarks(self._missing())

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
        return StoredAnswer(place, response)

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
            self.remarks.append(f"{file}: rows of no task, passed over: {strange:,}")
        return entries

    def _response(self, entry: Entry) -> Response:
        """The answer. Raises UsageError for an invalid one."""
        row, own = entry.row, entry.own
        folders = self._folders_of(entry.file)
        missing: list[str] = []

        def medium(name: str) -> Media | None:
            try:
                return self._media.find(name, folders)
            except MissingDataError as error:
                missing.append(f"a file of the answer is missing: {error}")
                return None

        if "error" in own:
            return error_of(own["error"])
        if row.get("error"):
            return Response(output=Interleaved(()))
        if _is_exact(entry):
            parts = tuple(exact_part(part, medium) for part in own["parts"])
            output = Interleaved(parts)
        else:
            output = answer_in(entry.task, row, medium)
        return Response(
            output=output,
            left_out=kinds_of(own.get("left_out")),
            warnings=tuple(missing),
        )

    def _folders_of(self, file: Path) -> tuple[Path, ...]:
        """The folders from which the paths of a file start."""
        return file.parent, self._folder, Path.cwd()

    def _missing(self) -> Iterator[str]:
        """The paths of all answers under which there is no file."""
        for file, entries in self._files.items():
            folders = self._folders_of(file)
            for entry in entries:
                for name in _files_named(entry):
                    if not self._media.has(name, folders):
                        yield name

    def _digests(self, file: Path) -> Iterator[str]:
        yield Media.from_path(file).sha256
        folders = self._folders_of(file)
        for entry in self._files[file]:
            names = (*paths_in(entry.task, entry.row), *exact_files(entry.own))
            for name in dict.fromkeys(names):
                yield self._media.sha256(name, folders)


def _is_exact(entry: Entry) -> bool:
    """Whether our own key has the parts of this very answer."""
    return "parts" in entry.own and entry.own.get("of") == seal(entry.row)


def _files_named(entry: Entry) -> list[str]:
    """The paths of an answer's media; none of a row whose answer is not read."""
    if "error" in entry.own or entry.row.get("error"):
        return []
    if _is_exact(entry):
        return exact_files(entry.own)
    return paths_in(entry.task, entry.row)


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
