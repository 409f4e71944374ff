"""The JSON export of Label Studio: a list of tasks with their annotations.

An annotation has one result for each control of the page. The control's name becomes
the question. Of a pair, the left side is ``a`` and the right side ``b``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.trust.forms.contract import (
    FormRatings,
    RatingsForm,
    Row,
    about_trial,
    entries,
    form_ratings,
    mapping,
    one_value,
    read_json,
    records,
)
from mmeval.trust.human_values import HumanValue
from mmeval.trust.records import Rating, TrialName

_SIDES = {"left": "a", "right": "b"}
_KINDS = {
    "rating": "grade",
    "number": "grade",
    "choices": "choice",
    "textarea": "text",
    "pairwise": "pair",
}


def _read(path: Path) -> FormRatings:
    rows: list[Row] = []
    skipped: Counter[str] = Counter()
    for task in records(path, read_json(path)):
        for annotation in records(path, task.get("annotations", []), "annotations"):
            if annotation.get("was_cancelled"):
                skipped["cancelled"] += 1
                continue
            rows += _rows(task, annotation, skipped)
    return form_ratings(path, rows, skipped)


def _rows(task: Row, annotation: Row, skipped: Counter[str]) -> Iterator[Row]:
    data = mapping(task.get("data"))
    trial = data.get("trial") or mapping(task.get("meta")).get("trial")
    for result in map(mapping, entries(annotation.get("result"))):
        kind = str(result.get("type"))
        value = mapping(result.get("value"))
        if kind not in _KINDS:
            skipped[f"results of the type {kind}"] += 1
            continue
        row = {
            **about_trial(data),
            "trial": trial if trial is not None else task.get("id"),
            "rater": _rater(annotation.get("completed_by")),
            "question": result.get("from_name"),
            "value": _value(kind, value),
            "kind": _KINDS[kind],
            "seconds": annotation.get("lead_time"),
            "at": annotation.get("created_at"),
        }
        if kind == "pairwise":
            row.setdefault("a", "left")
            row.setdefault("b", "right")
        yield row


def _rater(completed_by: Any) -> Any:
    """Returns the e-mail address of a person, or else the number."""
    person = mapping(completed_by)
    if not person:
        return completed_by
    return person.get("email") or person.get("id")


def _value(kind: str, value: Mapping[str, Any]) -> Any:
    if kind == "pairwise":
        selected = str(value.get("selected"))
        return _SIDES.get(selected)
    key = "text" if kind == "textarea" else kind
    content = value.get(key)
    return one_value(content) if isinstance(content, list) else content


def _write(ratings: Sequence[Rating], _human: HumanValue) -> str:
    """Returns a task for each trial, with the first passes of its raters. The form has
    no second ones."""
    tasks: dict[TrialName, Row] = {}
    for rating in ratings:
        if rating.pass_number != 1:
            continue
        number = len(tasks) + 1
        task = tasks.setdefault((rating.run, rating.trial), _task(rating, number))
        annotations = task["annotations"]
        annotations.append(_annotation(rating, len(annotations) + 1))
    return json.dumps(list(tasks.values()), indent=1, ensure_ascii=False) + "\n"


def _task(rating: Rating, number: int) -> Row:
    data: Row = {"trial": rating.trial}
    for name in ("sample", "cluster", "task", "run", "a", "b", "first"):
        if getattr(rating, name):
            data[name] = getattr(rating, name)
    if rating.labels:
        data["labels"] = dict(rating.labels)
    return {"id": number, "data": data, "annotations": [], "predictions": []}


def _annotation(rating: Rating, number: int) -> Row:
    return {
        "id": number,
        "completed_by": {"id": number, "email": rating.rater},
        "was_cancelled": False,
        "ground_truth": False,
        "lead_time": rating.seconds,
        "created_at": rating.at.isoformat() if rating.at else None,
        "result": _results(rating),
    }


def _results(rating: Rating) -> list[Row]:
    """Returns the one result of a rating. "Cannot say" has none, and a tie of a pair
    has none either."""
    if rating.value is None:
        return []
    kind = "choices"
    value: Row = {"choices": [rating.value]}
    side_of = {outcome: side for side, outcome in _SIDES.items()}
    if rating.a and rating.b:
        if rating.value not in side_of:
            return []
        kind, value = "pairwise", {"selected": side_of[str(rating.value)]}
    elif not isinstance(rating.value, str):
        # the stars of Label Studio are whole numbers
        kind, value = "number", {"number": rating.value}
        if rating.value.is_integer() and rating.value >= 0:
            kind, value = "rating", {"rating": int(rating.value)}
    return [
        {
            "id": "r",
            "from_name": rating.question or "value",
            "to_name": "answer",
            "type": kind,
            "value": value,
        }
    ]


FORM = RatingsForm("the JSON export of Label Studio", _read, _write)
