"""The fields of UEval's rows: the task, the kind of question, and each side's criteria.

The columns of the published data sets differ. The task is ``task`` or ``task_type``. A
criterion is a text or an object with ``criterion`` (its other keys are labels). Only
some data sets have ``question_type``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

Kind = Literal["open", "closed"]
"""The kind of question. ``open`` asks for a guide in steps with several pictures, and
``closed`` asks for one figure with an explanation."""
Kinds = Literal["labels", "released"]
"""How the kind is found: from all labels, or like the released evaluator."""

CLOSED = ("space", "textbook", "diagram", "paper")
OPEN = ("art", "life", "tech", "exercise")
TASKS = (*CLOSED, *OPEN)
"""The tasks in the order of the paper's tables."""
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(CLOSED, "closed"),
    **dict.fromkeys(OPEN, "open"),
}
TEXT_CRITERIA, IMAGE_CRITERIA = "text_rubrics", "image_rubrics"
"""The labels with the criteria of each side."""


def task_of(labels: Mapping[str, Any]) -> str:
    """Returns the task of a row: ``task``, or ``task_type`` if ``task`` is blank."""
    return _word(labels.get("task")) or _word(labels.get("task_type"))


def kind_of(labels: Mapping[str, Any], kinds: Kinds = "labels") -> Kind:
    """Returns the kind of a row's question, by its task or by ``question_type``.

    Raises ValueError if both the task and the ``question_type`` are unknown.
    """
    if kinds == "released":
        return released_kind(labels)
    task, written = task_of(labels), _word(labels.get("question_type"))
    if task in KINDS:
        return KINDS[task]
    if written == "open":
        return "open"
    if written == "closed":
        return "closed"
    raise ValueError(
        f"the task {task[:40]!r} is not a task of UEval ({', '.join(TASKS)}), and "
        "question_type is neither open nor closed"
    )


def released_kind(labels: Mapping[str, Any]) -> Kind:
    """Returns the kind by ``task`` alone.

    Official oddity: if the data set has ``task_type`` instead, every question is open.
    """
    return KINDS.get(_word(labels.get("task")), "open")


def criteria_of(labels: Mapping[str, Any], label: str) -> tuple[str, ...]:
    """Returns the criteria of one side.

    The list is empty if the row does not have the label. Raises ValueError for a label
    that is not a list of criteria.
    """
    rows = labels.get(label)
    if rows is None:
        return ()
    if not isinstance(rows, list | tuple):
        raise ValueError(f"{label!r} is not a list of criteria")
    criteria: list[str] = []
    for number, row in enumerate(rows, start=1):
        text = row.get("criterion") if isinstance(row, Mapping) else row
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"criterion {number} of {label!r} has no text")
        criteria.append(text)
    return tuple(criteria)


def row_fault(labels: Mapping[str, Any], kinds: Kinds = "labels") -> str:
    """Returns why a row cannot be judged; empty if it can."""
    try:
        kind_of(labels, kinds)
        criteria_of(labels, TEXT_CRITERIA)
        criteria_of(labels, IMAGE_CRITERIA)
    except ValueError as error:
        return str(error)
    return ""


def _word(value: Any) -> str:
    if isinstance(value, str):
        return value.strip().lower()
    return ""
