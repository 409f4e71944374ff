"""Chooses three answers for the first screen: the best, the worst and a typical answer.
Their parts can be shown without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

MOST_PARTS = 7
"""The largest number of an answer's parts that are shown. The link below it leads to
all parts."""
MAX_TEXT = 240
MAX_LINES = 8
"""The largest number of lines of code that are shown."""
_WORD = re.compile(r"\w")


class _Answer(NamedTuple):
    """A row of the index. ``goodness`` is its score from 0 to 1 (best). ``kinds`` is
    the number of kinds of parts minus one."""

    goodness: float
    kinds: int
    row: int


def three_answers(
    index: Mapping[str, Any], details: Callable[[int], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Returns answers to three samples for the template, by the headline metric of
    their task. Among answers with the same score, those with the largest number of
    kinds of parts are shown. If there are no scores, the answers are shown without
    scores. ``index`` is the report's index; ``details`` reads a row's trial in full."""
    # Imported late: it imports fractions and decimals, which other pages do not need.
    from statistics import median

    rows = index["rows"]
    answers = list(_answers(index, scored=True)) or list(_answers(index, scored=False))
    alike = len({answer.goodness for answer in answers}) < 2
    middle = median(answer.goodness for answer in answers) if answers else 0.0
    choices: tuple[tuple[str, Callable[[_Answer], float]], ...] = (
        ("best", lambda answer: -answer.goodness),
        ("worst", lambda answer: answer.goodness),
        ("typical", lambda answer: abs(answer.goodness - middle)),
    )
    shown: list[dict[str, Any]] = []
    shown_samples = set[tuple[int, int]]()
    for label, distance in choices:
        best: tuple[float, int, int] | None = None
        for answer in answers:
            rank = (distance(answer), -answer.kinds, answer.row)
            sample = (rows["task"][answer.row], rows["index"][answer.row])
            if sample not in shown_samples and (best is None or rank < best):
                best = rank
        if best is not None:
            row = best[-1]
            shown_samples.add((rows["task"][row], rows["index"][row]))
            shown.append(_card(index, row, "" if alike else label, details(row)))
    # in the order best, typical, worst
    return [*shown[:1], *reversed(shown[1:])]


def _answers(index: Mapping[str, Any], *, scored: bool) -> Iterator[_Answer]:
    """Yields the answers that have a score, or all answers. Each answer is a small
    record, because a report may contain many thousands of answers."""
    rows = index["rows"]
    uncounted = index["statuses"].index("uncounted")
    rates = {}
    for metric in index["metrics"]:
        name = metric["name"]
        rates[name] = _rate(metric, rows["scores"][name])
    for row, kinds in enumerate(rows["kinds"]):
        if kinds and rows["status"][row] != uncounted:
            metric, value = _score(index, row)
            if not scored:
                yield _Answer(0.0, kinds.count("+"), row)
            elif value is not None:
                yield _Answer(rates[metric](value), kinds.count("+"), row)


def _score(index: Mapping[str, Any], row: int) -> tuple[str, float | None]:
    """Returns the headline metric of a row's task, and the row's score by it."""
    metric = index["tasks"][index["rows"]["task"][row]]["headline"]
    column = index["rows"]["scores"].get(metric)
    return metric, None if column is None else column[row]


def _rate(
    metric: Mapping[str, Any], column: Iterable[float | None]
) -> Callable[[float], float]:
    """Returns a function that computes the goodness of a score: its position in the
    metric's range, or in the range of all scores if the metric's range is unknown."""
    values = [value for value in column if value is not None]
    low, high = 0.0, 1.0
    if metric["range"]:
        low, high = metric["range"]
    elif values:
        low, high = min(values), max(values)
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
    run = model = ""
    if len(index["runs"]) > 1:
        run = f"run={task['run']}&"
        model = index["runs"][task["run"]]["model"]
    place = f"{quote(task['name'])}/{rows['index'][row]}/{rows['repeat'][row]}"
    parts = list(filter(None, map(_part, trial["output"] or ())))
    return {
        "label": label,
        "metric": "" if value is None else metric,
        "value": "" if value is None else f"{value:.3f}",
        "run": model,
        "task": task["alias"],
        "title": rows["title"][row] or rows["sample"][row],
        "href": f"#{run}trial={place}",
        "parts": parts[:MOST_PARTS],
        "more": len(parts[MOST_PARTS:]),
    }


def _part(part: Mapping[str, Any]) -> dict[str, str] | None:
    """Returns a part as ``text``, ``code``, ``image``, ``audio`` or ``video``, or as
    ``other`` if only its name is shown. Returns None for reasoning, and for spaces and
    punctuation."""
    kind, text = str(part["kind"]), str(part.get("text") or "")
    if kind == "reasoning" or (kind == "text" and not _WORD.search(text)):
        return None
    if kind in ("text", "document") and text:
        words = text.strip()
        if len(words) > MAX_TEXT:
            words = f"{words[:MAX_TEXT]}…"
        return {"kind": "text", "text": words}
    if kind == "code" and text:
        code = "\n".join(text.strip("\n").splitlines()[:MAX_LINES])
        return {"kind": "code", "text": code[: 2 * MAX_TEXT]}
    noun = {"3d": "3D model", "audio": "sound"}.get(kind, kind)
    name = str(part.get("label") or part.get("name") or noun)
    pages = part.get("pages") or [""]
    source = str(part.get("src") or pages[0])
    if source:
        shown_as = "image" if kind == "document" else kind
        return {"kind": shown_as, "src": source, "name": name}
    note = str(part.get("note") or "")[:MAX_TEXT]
    return {"kind": "other", "name": name, "note": note}
