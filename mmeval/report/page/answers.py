"""Three answers for the first screen: the best, the worst and a typical one, in parts
that need no scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import quote

MOST_PARTS = 7
"""Parts of an answer; the link below it leads to all of them."""
MAX_TEXT = 240
MAX_LINES = 8
"""Lines of code."""
_WORD = re.compile(r"\w")


class _Answer(NamedTuple):
    """A row of the index: ``goodness`` is its score from 0 to 1, where 1 is best,
    ``kinds`` are those of its parts."""

    goodness: float
    kinds: int
    row: int


def three_answers(
    index: Mapping[str, Any], details: Callable[[int], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Answers to three samples for the template, by the metric that stands for their
    task; of equal ones those with most kinds of parts. Where there is no score they
    have none. ``index`` is the report's index, ``details`` reads a row's trial in
    full."""
    rows = index["rows"]
    rest = list(_answers(index, scored=True)) or list(_answers(index, scored=False))
    alike = len({one.goodness for one in rest}) < 2
    middle = median(one.goodness for one in rest) if rest else 0.0
    ways: tuple[tuple[str, Callable[[_Answer], float]], ...] = (
        ("best", lambda one: -one.goodness),
        ("worst", lambda one: one.goodness),
        ("typical", lambda one: abs(one.goodness - middle)),
    )
    shown: list[dict[str, Any]] = []
    taken = set[tuple[int, int]]()
    for label, way in ways:
        left = (
            one
            for one in rest
            if (rows["task"][one.row], rows["index"][one.row]) not in taken
        )
        if one := min(
            left, key=lambda one: (way(one), -one.kinds, one.row), default=None
        ):
            taken.add((rows["task"][one.row], rows["index"][one.row]))
            shown.append(
                _card(index, one.row, "" if alike else label, details(one.row))
            )
    return [shown[0], *reversed(shown[1:])] if shown else []


def _answers(index: Mapping[str, Any], *, scored: bool) -> Iterator[_Answer]:
    """The answers that have a score, or all; each is counted by three numbers, as a
    report may have many thousands."""
    rows = index["rows"]
    uncounted = index["statuses"].index("uncounted")
    rates = {
        metric["name"]: _rate(metric, rows["scores"][metric["name"]])
        for metric in index["metrics"]
    }
    for row, (status, kinds) in enumerate(
        zip(rows["status"], rows["kinds"], strict=True)
    ):
        if kinds and status != uncounted:
            metric, value = _score(index, row)
            if not scored:
                yield _Answer(0.0, kinds.count("+"), row)
            elif value is not None:
                yield _Answer(rates[metric](value), kinds.count("+"), row)


def _score(index: Mapping[str, Any], row: int) -> tuple[str, float | None]:
    """The metric that stands for a row's task, and the row's score by it."""
    metric = index["tasks"][index["rows"]["task"][row]]["headline"]
    column = index["rows"]["scores"].get(metric)
    return metric, None if column is None else column[row]


def _rate(
    metric: Mapping[str, Any], column: Iterable[float | None]
) -> Callable[[float], float]:
    """How good a metric's score is: its place in the range that is known, else in that
    of its scores."""
    values = [value for value in column if value is not None]
    low, high = (
        metric["range"] or (min(values), max(values))
        if values or metric["range"]
        else (0.0, 1.0)
    )
    width = high - low or 1.0

    def rate(value: float) -> float:
        share = (value - low) / width
        return share if metric["higher_is_better"] else 1 - share

    return rate


def _card(
    index: Mapping[str, Any], row: int, label: str, trial: Mapping[str, Any]
) -> dict[str, Any]:
    rows = index["rows"]
    task = index["tasks"][rows["task"][row]]
    metric, value = _score(index, row)
    several = len(index["runs"]) > 1
    run = f"run={task['run']}&" if several else ""
    place = "/".join(
        (quote(task["name"]), str(rows["index"][row]), str(rows["repeat"][row]))
    )
    parts = [found for part in trial["output"] or () if (found := _part(part))]
    return {
        "label": label,
        "metric": "" if value is None else metric,
        "value": "" if value is None else f"{value:.3f}",
        "run": index["runs"][task["run"]]["model"] if several else "",
        "task": task["alias"],
        "title": rows["title"][row] or rows["sample"][row],
        "href": f"#{run}trial={place}",
        "parts": parts[:MOST_PARTS],
        "more": len(parts[MOST_PARTS:]),
    }


def _part(part: Mapping[str, Any]) -> dict[str, str] | None:
    """A part as one of ``text``, ``code``, ``image``, ``audio``, ``video`` or, where it
    is only named, ``other``. None for reasoning, and for space and punctuation between
    media."""
    kind, text = str(part["kind"]), str(part.get("text") or "")
    name = str(
        part.get("label")
        or part.get("name")
        or {"3d": "3D model", "audio": "sound"}.get(kind, kind)
    )
    pages = part.get("pages") or [""]
    source = str(part.get("src") or pages[0])
    if kind == "reasoning" or (kind == "text" and not _WORD.search(text)):
        return None
    if kind in ("text", "document") and text:
        words = text.strip()
        return {
            "kind": "text",
            "text": words if len(words) <= MAX_TEXT else f"{words[:MAX_TEXT]}…",
        }
    if kind == "code" and text:
        return {
            "kind": "code",
            "text": "\n".join(text.strip("\n").splitlines()[:MAX_LINES])[
                : 2 * MAX_TEXT
            ],
        }
    if source:
        return {
            "kind": "image" if kind == "document" else kind,
            "src": source,
            "name": name,
        }
    return {
        "kind": "other",
        "name": name,
        "note": str(part.get("note") or "")[:MAX_TEXT],
    }
