"""Reads the answer files of UEval's own scripts.

    [{"id": "501", "text_answer": "1. ...", "image_answer": ["images/501_1.png", "images/501_2.png"]}]

``image_answer`` may be one path, null, or have empty entries. The names of both fields
can be given, as the scripts of single models have others; an empty name is of a kind
that the model was not asked for. Further answers to the same questions, which the
scripts do not know, are in ``answers_repeat1.json`` and so on. All else is as
:mod:`mmeval.interchange.by_id` says.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.content import Interleaved, Media, media_part, text_part
from mmeval.errors import UsageError
from mmeval.interchange import (
    AnswersById,
    EntryFile,
    MediaPaths,
    MediaRoot,
    files_of,
    kinds_of,
    list_of,
    read_entries,
)
from mmeval.records import digest

ANSWERS, REPEAT = "answers.json", "answers_repeat{}.json"
TEXT, IMAGE = "text_answer", "image_answer"


class PlainAnswer(NamedTuple):
    """A text, and paths of pictures."""

    text: str
    pictures: tuple[str, ...]


def read_output(
    path: Path,
    text_field: str = TEXT,
    image_field: str = IMAGE,
    media_root: MediaRoot = (),
) -> OutputAnswers:
    """The answers of a file, or of a folder with ``answers.json``; the fields hold
    texts and pictures. A model was not asked for the kind whose field is empty.
    ``media_root``: see :class:`mmeval.interchange.MediaPaths`. Raises MissingDataError
    without answers, UsageError for a damaged file."""
    media = MediaPaths(media_root)
    files = files_of(path, ANSWERS, REPEAT)
    left_out = kinds_of(
        [
            kind
            for kind, field in (("text", text_field), ("image", image_field))
            if not field
        ]
    )
    found = {
        repeat: _read(file, text_field, image_field) for repeat, file in files.items()
    }
    return OutputAnswers(found, REPEAT, left_out, media)


def seal(text: str, pictures: Sequence[str]) -> str:
    """A digest of an entry, so that parts of another answer are not used for this
    one."""
    return digest([text, list(pictures)])


def plain_answer(text: str, pictures: Sequence[Media]) -> Interleaved:
    """The answer that an entry alone gives: the text, then the pictures."""
    words = [text_part(text)] if text else []
    return Interleaved(
        (*words, *(media_part(picture, "image") for picture in pictures))
    )


class OutputAnswers(AnswersById[PlainAnswer]):
    """The answers of one model."""

    def seal(self, answer: PlainAnswer) -> str:
        return seal(*answer)

    def paths(self, answer: PlainAnswer) -> Sequence[str]:
        return answer.pictures

    def plain(
        self, answer: PlainAnswer, medium: Callable[[str], Media]
    ) -> tuple[Interleaved, tuple[str, ...]]:
        return plain_answer(answer.text, [medium(name) for name in answer.pictures]), ()


def _read(file: Path, text_field: str, image_field: str) -> EntryFile[PlainAnswer]:
    rows = list_of(file)
    named = [row for row in rows if isinstance(row, dict) and row.get("id") is not None]
    if named and not any(text_field in row or image_field in row for row in named):
        raise UsageError(
            f"{file}: no entry has {text_field!r} or {image_field!r}; say text_field= "
            "and image_field="
        )
    places = ((f"{file}: entry {number}", row) for number, row in enumerate(rows, 1))
    return read_entries(
        file,
        places,
        lambda row: PlainAnswer(_text(row, text_field), _pictures(row, image_field)),
    )


def _text(row: Mapping[str, Any], field: str) -> str:
    value = row.get(field)
    if not isinstance(value, str | None):
        raise UsageError(f"{field!r} is {value!r:.80}; write a text, or null")
    return value or ""


def _pictures(row: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = row.get(field)
    paths = value if isinstance(value, list) else [value]
    if not all(isinstance(path, str | None) for path in paths):
        raise UsageError(
            f"{field!r} is {value!r:.80}; write a list of paths, one path, or null"
        )
    return tuple(path for path in paths if path)
