"""Reads the answer files of UEval's own scripts.

    [{"id": "501", "text_answer": "1. ...", "image_answer": ["images/501_1.png", "images/501_2.png"]}]

``image_answer`` may be one path, null, or have empty entries; of an id that stands twice the last entry counts, and one
without an id is passed over. Paths start from the file, else from the working directory. The names of both fields can
be given, as the scripts of single models have others; an empty name is of a kind that the model was not asked for.

What the layout has no place for is under our own key ``mmeval`` of an entry, which those scripts do not read: the parts
of an answer that the entry alone does not give back (``parts``, sealed to it by ``of``), a failure (``error``), and the
kinds that the model was not asked for (``left_out``). Further answers to the same questions, which the scripts do not
know, are in ``answers_repeat1.json`` and so on.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.content import Interleaved, Media, PartKind, media_part, path_inside, text_part
from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange import (
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
from mmeval.wording import counted

ANSWERS, REPEAT = "answers.json", "answers_repeat{}.json"
TEXT, IMAGE = "text_answer", "image_answer"
_REPEAT = re.compile(r"answers_repeat([1-9][0-9]{0,3})\.json")


class Entry(NamedTuple):
    """One answer: its place in the file, text, paths of pictures, and our own key."""

    number: int
    text: str
    pictures: tuple[str, ...]
    own: Mapping[str, Any]


class AnswerFile(NamedTuple):
    """A file with its answers by id; ``remarks`` are about the entries that do not count."""

    path: Path
    entries: Mapping[str, Entry]
    remarks: tuple[str, ...]


def read_output(path: Path, text_field: str = TEXT, image_field: str = IMAGE) -> OutputAnswers:
    """The answers of a file, or of a folder with ``answers.json``; the fields hold texts and pictures.
    A model was not asked for the kind whose field is empty.
    Raises MissingDataError without answers, UsageError for a damaged file."""
    files = {0: path} if path.is_file() else _files(path)
    left_out = kinds_of([kind for kind, field in (("text", text_field), ("image", image_field)) if not field])
    return OutputAnswers({repeat: _read(file, text_field, image_field) for repeat, file in files.items()}, left_out)


def seal(text: str, pictures: Sequence[str]) -> str:
    """A digest of an entry, so that parts of another answer are not used for this one."""
    return digest([text, list(pictures)])


def plain_answer(text: str, pictures: Sequence[Media]) -> Interleaved:
    """The answer that an entry alone gives: the text, then the pictures."""
    words = [text_part(text)] if text else []
    return Interleaved((*words, *(media_part(picture, "image") for picture in pictures)))


class OutputAnswers:
    """The answers of one model by repeat, in memory; pictures are read on demand.
    ``left_out`` are the kinds that the model was not asked for in any of them."""

    def __init__(self, files: Mapping[int, AnswerFile], left_out: tuple[PartKind, ...]) -> None:
        self._files, self._left_out = files, left_out
        self._folder = files[0].path.parent

    @property
    def model(self) -> str:
        return model_of(read_manifest(self._folder), self._folder)

    @cached_property
    def digest(self) -> str:
        """The digest of the files and of all pictures that there are."""
        return digest([[file.path.name, *self._digests(file)] for file in self._files.values()])

    @property
    def counts(self) -> Mapping[str, int]:
        return {file.path.name: len(file.entries) for file in self._files.values()}

    @property
    def remarks(self) -> Sequence[str]:
        return [remark for file in self._files.values() for remark in file.remarks]

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:  # noqa: ARG002
        file = self._files.get(repeat)
        if file is None:
            return Absent(f"{self._folder} has no {REPEAT.format(repeat)}")
        entry = file.entries.get(sample.id)
        if entry is None:
            return Absent(f"{file.path} has no answer with the id {sample.id!r}")
        place = AnswerPlace(file.path.name, entry.number)
        try:
            return StoredAnswer(place, self._response(file.path, entry))
        except MissingDataError as error:
            return Absent(f"{sample.id!r}: {error}", place)
        except UsageError as error:
            raise UsageError(f"{file.path}, id {sample.id!r}: {error}") from None

    def close(self) -> None:
        """Nothing is held open."""

    def _response(self, file: Path, entry: Entry) -> Response:
        """Raises MissingDataError for a missing picture, UsageError for an invalid answer."""
        own = entry.own
        if "error" in own:
            return error_of(own["error"])
        left_out = tuple(dict.fromkeys((*self._left_out, *kinds_of(own.get("left_out")))))
        if "parts" in own and own.get("of") == seal(entry.text, entry.pictures):
            parts = (exact_part(part, lambda name: _medium(file, name)) for part in own["parts"])
            return Response(output=Interleaved(tuple(parts)), left_out=left_out)
        pictures = [_medium(file, name) for name in entry.pictures]
        return Response(output=plain_answer(entry.text, pictures), left_out=left_out)

    def _digests(self, file: AnswerFile) -> Iterator[str]:
        yield Media.from_path(file.path).sha256
        for entry in file.entries.values():
            parts = (part for part in entry.own.get("parts", ()) if isinstance(part, dict))
            for name in dict.fromkeys((*entry.pictures, *(str(part["file"]) for part in parts if "file" in part))):
                with contextlib.suppress(MissingDataError):
                    yield _medium(file.path, name).sha256


def _files(folder: Path) -> dict[int, Path]:
    if not (folder / ANSWERS).is_file():
        raise MissingDataError(f"{folder}: no {ANSWERS}; name the file of the answers with path=")
    numbered = {int(found[1]): file for file in folder.iterdir() if (found := _REPEAT.fullmatch(file.name))}
    return {0: folder / ANSWERS, **numbered}


def _read(file: Path, text_field: str, image_field: str) -> AnswerFile:
    found: dict[str, Entry] = {}
    nameless = again = fitting = 0
    for number, row in enumerate(list_of(file)):
        name = row.get("id") if isinstance(row, dict) else None
        nameless += name is None
        if name is None:
            continue
        again += str(name) in found
        fitting += text_field in row or image_field in row
        try:
            text, pictures = _text(row, text_field), _pictures(row, image_field)
            found[str(name)] = Entry(number, text, pictures, own_of(row))
        except UsageError as error:
            raise UsageError(f"{file}: entry {number + 1}: {error}") from None
    if found and not fitting:
        raise UsageError(f"{file}: no entry has {text_field!r} or {image_field!r}; say text_field= and image_field=")
    remarks = (
        (nameless, f"{file}: {counted(nameless, 'answer')} without an id passed over"),
        (again, f"{file}: {counted(again, 'answer')} for an id that stands again; the last one counts"),
    )
    return AnswerFile(file, found, tuple(words for count, words in remarks if count))


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str | None):
        raise UsageError(f"{field!r} is {value!r:.80}; write a text, or null")
    return value or ""


def _pictures(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = row.get(field)
    paths = value if isinstance(value, list) else [value]
    if not all(isinstance(path, str | None) for path in paths):
        raise UsageError(f"{field!r} is {value!r:.80}; write a list of paths, one path, or null")
    return tuple(path for path in paths if path)


def _medium(file: Path, name: str) -> Media:
    """The medium at a path from the file, else from the working directory.
    Raises UsageError for a path that leads out of both, MissingDataError for a missing file."""
    root = next((root for root in (file.parent, Path.cwd()) if path_inside(root, name).is_file()), file.parent)
    return medium_inside(root, name)
