"""What could not be computed: the numbers without a value, once for each reason and way to get them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmeval.records.score import Result
from mmeval.report.numbers import NumberRow, ResultsDocument, groups_of
from mmeval.report.page.tables import link
from mmeval.results.groups import tasks_inside
from mmeval.wording import of_several

_TASKS = "\0"
"""In the place of a task's name: reasons that differ in it alone are one."""


def not_computed(
    rows: Sequence[NumberRow], documents: Sequence[ResultsDocument], *, uncounted: bool
) -> list[dict[str, Any]]:
    """The rows of which no run has a value, by reason, for the template."""
    members = groups_of(documents)
    found: dict[str, tuple[dict[str, None], list[NumberRow]]] = {}
    for row in rows:
        if row.metric and not row.is_known:
            inside = [row.task, *sorted(tasks_inside(row.task, members))]
            task, reason = next(_recorded(row.metric, inside, documents), ("", _by_counts(row.results)))
            tasks, own = found.setdefault(re.sub(rf"(?<!\S){re.escape(task)}(?!\S)", _TASKS, reason), ({}, []))
            tasks[task] = None
            own.append(row)
    return [
        _reason(reason.replace(_TASKS, " ".join(tasks)), own, uncounted=uncounted)
        for reason, (tasks, own) in found.items()
    ]


def _recorded(metric: str, tasks: Sequence[str], documents: Sequence[ResultsDocument]) -> Iterator[tuple[str, str]]:
    """Why a metric is unavailable in some of the tasks; of one made of others, why these are."""
    for document in documents:
        for task in tasks:
            metrics = document.get("mmeval", {}).get("metrics", {}).get(task, {})
            yield from ((task, reason) for reason in _roots(metric, metrics))


def _roots(name: str, metrics: Mapping[str, Mapping[str, Any]]) -> list[str]:
    entry = next((one for one in metrics.values() if name in one.get("outputs", ())), {})
    if not entry.get("unavailable"):
        lacking = list(entry.get("without", ())) if entry.get("of_averages") else []
        return [f"they are made of numbers that no trial has: {', '.join(lacking)}"] if lacking else []
    others = {other: one for other, one in metrics.items() if one is not entry}
    return [reason for piece in entry.get("pieces", ()) for reason in _roots(piece, others)] or [entry["unavailable"]]


def _by_counts(results: Sequence[Result | None]) -> str:
    """Why no trial has a score, where no metric was unavailable."""
    known = [result for result in results if result is not None]
    if any(result.suspended for result in known):
        return "scoring was suspended, and no part of it is fair to the whole"
    if known and all(result.unsupported == result.n for result in known):
        return "no trial was asked: the model does not take or give what they need"
    if any(result.has_nothing_to_score for result in known):
        return "no answer holds anything for them"
    lost = [what for what in ("failed", "unscored") if any(getattr(result, what) for result in known)]
    return f"no trial has a score: they are {' or '.join(lost)}" if lost else "no trial has a score"


def _reason(reason: str, rows: Sequence[NumberRow], *, uncounted: bool) -> dict[str, Any]:
    why, _, fix = (of_several(reason) if len(rows) > 1 else reason).partition("; ")
    places: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        name = f"{row.alias}, {row.slice}" if row.slice else row.alias
        places.setdefault((name, link(row, uncounted=uncounted)), []).append(row.metric)
    return {
        "why": why[:1].upper() + why[1:],
        "fix": fix,
        "count": len(rows),
        "places": [{"name": name, "href": href, "metrics": ", ".join(own)} for (name, href), own in places.items()],
    }
