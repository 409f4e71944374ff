"""Finds MME-Unify's result files, and the question that a row answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError
from mmeval.interchange import MANIFEST, AnswerFile, Row, repeat_of
from mmeval.media import path_inside
from mmeval.records import Sample
from mmeval.tasks.mme_unify.loader import PROMPT, TASK, question_of, task_of

_FOLDERS = ("", "Understanding/", "Generation/", "U[in][in]fy_[Cc]apability/*/")
_TASK_BY_FIELD = {"Action": "vcot", "img_a": "sd", "image_Auxiliary_lines": "al"}


class QuestionKey(NamedTuple):
    """The key of a question, since ids are not unique.

    ``media`` are the names of its media. A field is None if the row lacks it.
    """

    task: str
    id: str
    words: str | None
    media: tuple[str, ...] | None


def result_files(path: Path) -> list[AnswerFile]:
    """Finds one file, or all result files in a folder and its released subfolders.

    Raises MissingDataError if there are none, and UsageError for a symbolic link that
    leads out of the folder.
    """
    files: list[Path] = []
    if path.is_file():
        files.append(path)
    for inner in _FOLDERS:
        for file in sorted(path.glob(f"{inner}*.json")):
            if file.name != MANIFEST and file.is_file():
                files.append(path_inside(path, file.relative_to(path).as_posix()))
    if not files:
        raise MissingDataError(
            f"{path} has no result files of MME-Unify, such as Visual_CoT.json. Name "
            "their folder with path="
        )
    return [AnswerFile(file, repeat_of(file)) for file in files]


def task_in(row: Row) -> str:
    """Returns the task that a row's keys identify, or an empty string if unknown."""
    row_data = row.get("data")
    data: Mapping[str, Any] = row_data if isinstance(row_data, dict) else {}
    for field, task in _TASK_BY_FIELD.items():
        if field in data:
            return task
    if "choice" in row and "data" in row:
        return "iee" if "edited_image" in data else "csq"
    category = row.get("category")
    return task_of("understanding", category) or task_of("generation", category)


def question_in(row: Row) -> QuestionKey | None:
    """Returns the question of a row, or None if its task is unknown."""
    task = task_in(row)
    return _key(task, row) if task else None


def questions_of(sample: Sample) -> Iterator[QuestionKey]:
    """Yields the key of a sample's question, then keys with fewer fields."""
    if TASK not in sample.metadata:
        return
    key = _key(sample.metadata[TASK], question_of(sample.metadata))
    yield key
    yield key._replace(media=None)
    yield key._replace(words=None)
    yield key._replace(words=None, media=None)


def _key(task: str, row: Row) -> QuestionKey:
    words, data = row.get("question", row.get(PROMPT)), row.get("data")
    paths = row.get("image")
    if "image" not in row and isinstance(data, dict):
        paths = list(data.values())
    media = None
    if isinstance(paths, list):
        media = tuple(PurePath(path).stem for path in paths if isinstance(path, str))
    return QuestionKey(
        task=task,
        id=str(row.get("question_id", row.get("id"))),
        words=words if isinstance(words, str) else None,
        media=media,
    )
