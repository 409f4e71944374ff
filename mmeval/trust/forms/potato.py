"""Exports of Potato (JSON lines, CSV), and its live file ``user_state.json``.

A scheme has one cell, or one cell for each of its labels, ``SCHEME.LABEL``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmeval.errors import UsageError
from mmeval.trust.forms.contract import (
    FormRatings,
    RatingsForm,
    Row,
    about_trial,
    form_ratings,
    mapping,
    one_value,
    read_json,
    records,
)
from mmeval.trust.rows import csv_rows

_LIVE = "instance_id_to_label_to_value"
_OF_INSTANCE = frozenset({"instance_id", "user_id"})
_OF_TRIAL = frozenset({"sample", "cluster", "task", "run", "a", "b", "first", "labels"})
_SPANS = "_spans"
_YES = frozenset({"true", "on", "yes"})
_SELECTIONS = {"A": "a", "B": "b", "tie": "tie"}
_NOTHING = (None, "", False)


def _read(path: Path) -> FormRatings:
    skipped: Counter[str] = Counter()
    rows: list[Row] = []
    for instance in _instances(path):
        known = {
            **about_trial(instance),
            "trial": instance.get("instance_id"),
            "rater": instance.get("user_id"),
        }
        for scheme, cells in _schemes(instance).items():
            if scheme.endswith(_SPANS):
                skipped["spans"] += 1
                continue
            for question, value in _answers(scheme, cells):
                row = {**known, "question": question, "value": value}
                if value in _SELECTIONS.values() and _is_pair(cells):
                    row.setdefault("a", "A")
                    row.setdefault("b", "B")
                rows.append(row)
    return form_ratings(path, rows, skipped)


def _instances(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yields a row for each instance and user."""
    if path.suffix.lower() == ".csv":
        yield from csv_rows(path)
        return
    document = read_json(path)
    if not isinstance(document, dict):
        yield from records(path, document)
        return
    if _LIVE not in document:
        raise UsageError(f"{path}: {_LIVE} is missing", file=path)
    for instance, schemes in mapping(document[_LIVE]).items():
        yield {
            **mapping(schemes),
            "instance_id": instance,
            "user_id": document.get("user_id"),
        }


def _schemes(instance: Mapping[str, Any]) -> dict[str, Any]:
    """Returns each scheme with its cell, or with its cells by label."""
    schemes: dict[str, Any] = {}
    for name, cell in instance.items():
        if not isinstance(name, str) or name in _OF_INSTANCE or name in _OF_TRIAL:
            continue
        scheme, dot, label = name.partition(".")
        if dot:
            schemes.setdefault(scheme, {})[label] = cell
        else:
            schemes[scheme] = cell
    return schemes


def _is_pair(cells: Any) -> bool:
    return bool({"selection", "scale_value"} & set(mapping(cells)))


def _answers(scheme: str, cells: Any) -> Iterator[tuple[str, Any]]:
    """Yields the questions of a scheme with their answers."""
    if not isinstance(cells, dict):
        if cells not in (None, ""):
            yield scheme, cells
        return
    given = {label: cell for label, cell in cells.items() if cell not in _NOTHING}
    if "selection" in given:
        selection = str(given["selection"])
        yield scheme, _SELECTIONS.get(selection, selection)
    elif "scale_value" in given:
        yield scheme, _side(given["scale_value"])
    elif _are_marks(cells):
        chosen = [label for label, cell in given.items() if str(cell) != "0"]
        if chosen:
            yield scheme, one_value(chosen)
    elif len(given) == 1:
        yield scheme, one_value(given.values())
    else:
        for label, cell in given.items():
            yield f"{scheme}.{label}", cell


def _are_marks(cells: Mapping[str, Any]) -> bool:
    """Returns True if cells say which labels are chosen, not what is said of them.

    Several cells of only 0 and 1 are marks. A single 1 is a mark if its label is a
    number, such as ``quality.4``, and else a grade.
    """
    numbers = 0
    for label, cell in cells.items():
        if cell in (None, ""):
            continue
        text = str(cell).lower()
        if text in ("0", "1"):
            numbers += 1
        elif text not in _YES and text != "false" and text != label.lower():
            return False
    return numbers == 0 or len(cells) > 1 or all(map(str.isdecimal, cells))


def _side(scale_value: Any) -> str:
    """Returns the side of a scale: below 0 is A, above 0 is B."""
    try:
        number = float(scale_value)
    except (TypeError, ValueError):
        raise UsageError(
            f"the scale of a pair must be a number, not {scale_value!r}"
        ) from None
    if number == 0:
        return "tie"
    return "a" if number < 0 else "b"


FORM = RatingsForm("exports of Potato, or its user_state.json", _read)
