"""The first screen's numbers: a headline's value and 95 % interval of each run, as
shares of a gauge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
from mmeval.report.charts.bars import SERIES
from mmeval.report.charts.scale import Scale, scale_for
from mmeval.report.page.tables import link
from mmeval.results.notes import from_to
from mmeval.results.numbers import NumberRow

MOST_LINES = 6
"""Gauges on the first screen; the table below has all numbers."""
DIGITS = 3

Ranges = Mapping[str, Sequence[float] | None]


def headline_gauges(
    rows: Sequence[NumberRow],
    names: Sequence[str],
    ranges: Ranges,
    *,
    uncounted: bool = False,
    beside: Column | None = None,
) -> list[dict[str, Any]]:
    """Of headline rows those with a value for the template: all, or where that is too
    many what no other one holds."""
    known = [row for row in rows if row.is_known]
    room = max(1, MOST_LINES // min(len(names), SERIES))
    shown = known if len(known) <= room else list(_outermost(known))[:room]
    return [
        {
            **_row(row, names, ranges.get(row.metric), beside),
            "href": link(row, uncounted=uncounted),
        }
        for row in shown
    ]


def _outermost(rows: Sequence[NumberRow]) -> Iterator[NumberRow]:
    """The rows that are not below another one of them."""
    depth = None
    for row in rows:
        if depth is None or row.depth <= depth:
            depth = row.depth
            yield row


def _row(
    row: NumberRow,
    names: Sequence[str],
    spread: Sequence[float] | None,
    beside: Column | None,
) -> dict[str, Any]:
    its_own = None if beside is None else beside.values.get(Key(row.task, row.metric))
    other = None if its_own is None else its_own.value
    found = [
        (name, at, result)
        for at, (name, result) in enumerate(zip(names, row.results, strict=True))
    ]
    known = [
        (name, at, result)
        for name, at, result in found
        if result is not None and result.value is not None
    ]
    ends = [
        end
        for _, _, result in known
        for end in (result.value, *(result.interval or ()))
        if end is not None
    ]
    scale = scale_for([*ends, *([] if other is None else [other])], spread)
    return {
        "name": row.alias,
        "metric": row.metric,
        "better": "up" if row.higher_is_better else "down",
        "inner": row.depth > 0,
        "gauges": [
            {
                "name": name if len(names) > 1 else "",
                "series": at,
                **_gauge(result, scale),
            }
            for name, at, result in known[:SERIES]
        ],
        "beside": None
        if beside is None or other is None
        else {
            "name": beside.header,
            "value": f"{other:.{DIGITS}f}",
            "at": _percent(scale, other),
        },
    }


def _gauge(result: Result, scale: Scale) -> dict[str, Any]:
    assert result.value is not None
    low, high = result.interval or (result.value, result.value)
    return {
        "value": f"{result.value:.{DIGITS}f}",
        "interval": "" if result.interval is None else from_to(result.interval, DIGITS),
        "scored": f"{result.scored:,} of {result.n:,}",
        "zero": _percent(scale, 0.0),
        "at": _percent(scale, result.value),
        "low": _percent(scale, low),
        "high": _percent(scale, high),
    }


def _percent(scale: Scale, value: float) -> float:
    return round(100 * scale.share(value), 2)
