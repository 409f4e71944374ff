"""Reads UEval's rows: parquet from the hub, or JSON or JSONL with a picture folder.

    id                              a text or a number
    prompt                          the question, a text
    text_ref, image_ref             the reference: a text, and a list of pictures (in JSON: a list of paths)
    task, or task_type              one of the eight; question_type for others
    text_rubrics, image_rubrics     the criteria (:mod:`mmeval.metrics.judged.ueval.rows`)

All columns except ``id``, ``prompt``, ``text_ref`` and ``image_ref`` become labels of
the sample, unchanged. Two labels are added: ``ueval_task``, which a task uses to select
its rows, and ``criteria``, the number of criteria.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmeval.dataset import (
    BadRow,
    DataSource,
    InterleavedDataset,
    MediaFolder,
    row_files,
    row_id,
)
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.metrics.judged.ueval.rows import (
    IMAGE_CRITERIA,
    TASKS,
    TEXT_CRITERIA,
    criteria_of,
    row_fault,
    task_of,
)
from mmeval.records import Sample, user

TASK, CRITERIA = "ueval_task", "criteria"
OPTIONS = ("data_file",)
_NOT_LABELS = ("id", "prompt", "text_ref", "image_ref", "media")


def load(source: DataSource) -> InterleavedDataset:
    """Loads the rows of a split.

    Raises MissingDataError if there are no row files, and UnknownNameError for an
    unknown option.
    """
    source.check_options(OPTIONS)
    root = source.folder.absolute()
    return InterleavedDataset(
        files=row_files(source),
        root=root,
        media={"image_ref": "images"},
        read=read_row,
        labels=known_labels,
    )


def known_labels(row: Mapping[str, Any]) -> dict[str, str]:
    """Returns the label that tasks use to select rows.

    The label is empty for an unknown task.
    """
    task = task_of(row)
    return {TASK: task} if task in TASKS else {}


def read_row(
    row: Mapping[str, Any], position: str, resolve: MediaFolder
) -> Sample | BadRow:
    """Turns a row into a sample. Raises UsageError if a picture is missing."""
    labels = {key: value for key, value in row.items() if key not in _NOT_LABELS}
    task, prompt = task_of(labels), row.get("prompt")
    selection_labels = known_labels(row)
    if fault := row_fault(labels):
        return BadRow("", fault, labels=selection_labels)
    if not isinstance(prompt, str) or not prompt.strip():
        return BadRow("", '"prompt" is not a text', labels=selection_labels)
    criteria = [
        *criteria_of(labels, TEXT_CRITERIA),
        *criteria_of(labels, IMAGE_CRITERIA),
    ]
    parts: list[Part] = []
    text = row.get("text_ref")
    if isinstance(text, str) and text:
        parts.append(text_part(text))
    for picture in row.get("media", {}).values():
        medium = picture
        if not isinstance(picture, Media):
            medium = resolve(picture, '"image_ref"')
        parts.append(media_part(medium, "image"))
    reference = Interleaved(tuple(parts))
    return Sample(
        id=row_id(row, position),
        input=(user(prompt),),
        references=() if reference.empty else (reference,),
        metadata={**labels, TASK: task, CRITERIA: len(criteria)},
    )
