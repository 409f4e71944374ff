"""What could not be computed: the numbers without a value, once for each remedy or
reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmeval.metric.bound import Need
from mmeval.records.score import Result
from mmeval.report.numbers import NumberRow, ResultsDocument, groups_of
from mmeval.report.page.tables import link
from mmeval.results.groups import tasks_inside
from mmeval.run.availability import remedies_of, words_for
from mmeval.wording import of_several


def not_computed(
    rows: Sequence[NumberRow], documents: Sequence[ResultsDocument], *, uncounted: bool
) -> list[dict[str, Any]]:
    """The rows of which no run has a value, for the template: by remedy where something
    is missing, else by reason. One that needs two things is with both."""
    members = groups_of(documents)
    needing: list[tuple[int, list[Need]]] = []
    reasons: dict[str, list[NumberRow]] = {}
    for at, row in enumerate(rows):
        if row.metric and not row.is_known:
            entries = list(
                _entries(
                    row.metric,
                    [row.task, *sorted(tasks_inside(row.task, members))],
                    documents,
                )
            )
            needs = [
                Need(*need) for entry in entries for need in entry.get("needs", ())
            ]
            reason = next(
                (entry["unavailable"] for entry in entries), ""
            ) or _by_counts(row.results)
            needing.append((at, needs))
            if not needs:
                reasons.setdefault(reason, []).append(row)
    ours = documents[0].get("mmeval", {})
    remedies = remedies_of(
        needing, words_for(ours.get("settings", {}), ours.get("metrics", {}))
    )
    by_remedy = [
        (
            one.why("number"),
            one.how_to,
            [row for at, row in enumerate(rows) if at in one.needing],
        )
        for one in remedies
    ]
    by_reason = [
        (of_several(why) if own[1:] else why, "", own) for why, own in reasons.items()
    ]
    return [
        _reason(why, fix, own, uncounted=uncounted)
        for why, fix, own in (*by_remedy, *by_reason)
    ]


def _entries(
    metric: str, tasks: Sequence[str], documents: Sequence[ResultsDocument]
) -> Iterator[Mapping[str, Any]]:
    """What the results files have of the unavailable metrics that give a number."""
    for document in documents:
        for task in tasks:
            for entry in (
                document.get("mmeval", {}).get("metrics", {}).get(task, {}).values()
            ):
                if metric not in entry.get("outputs", ()):
                    continue
                if entry.get("unavailable"):
                    yield entry
                elif entry.get("of_averages") and entry.get("without"):
                    yield {
                        "unavailable": "it is made of numbers that no trial has: "
                        f"{', '.join(entry['without'])}"
                    }


def _by_counts(results: Sequence[Result | None]) -> str:
    """Why no trial has a score, where no metric was unavailable."""
    known = [result for result in results if result is not None]
    if any(result.suspended for result in known):
        return "scoring was suspended, and no part of it is fair to the whole"
    if known and all(result.unsupported == result.n for result in known):
        return "no trial was asked: the model does not take or give what they need"
    if any(result.has_nothing_to_score for result in known):
        return "no answer holds anything for them"
    lost = [
        what
        for what in ("failed", "unscored")
        if any(getattr(result, what) for result in known)
    ]
    return (
        f"no trial has a score: they are {' or '.join(lost)}"
        if lost
        else "no trial has a score"
    )


def _reason(
    why: str, fix: str, rows: Sequence[NumberRow], *, uncounted: bool
) -> dict[str, Any]:
    places: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        name = f"{row.alias}, {row.slice}" if row.slice else row.alias
        places.setdefault((name, link(row, uncounted=uncounted)), []).append(row.metric)
    return {
        "why": why[:1].upper() + why[1:],
        "fix": fix,
        "places": [
            {"name": name, "href": href, "metrics": ", ".join(own)}
            for (name, href), own in places.items()
        ],
    }
