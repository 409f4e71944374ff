"""Builds the gauges of a run's first screen: each headline's value and 95 %
interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.charts.scale import AxisScale, scale_for
from mmeval.report.page.links import link
from mmeval.results.notes import from_to
from mmeval.results.numbers import NumberRow

MOST_LINES = 6
"""The largest number of gauges on the first screen. The table below has all numbers."""
DIGITS = 3
"""The number of decimals of the numbers of tasks on a page."""

Ranges = Mapping[str, Sequence[float] | None]


def headline_gauges(
    rows: Sequence[NumberRow],
    ranges: Ranges,
    *,
    uncounted: bool = False,
    baseline: BaselineColumn | None = None,
) -> list[dict[str, Any]]:
    """Returns the headline rows of one run with a value, for the template. If there are
    too many, only the outermost rows are included."""
    known = [row for row in rows if row.is_known]
    shown = known
    if len(known) > MOST_LINES:
        shown = outermost(known)
    lines = []
    for row in shown[:MOST_LINES]:
        result = row.results[0]
        if result is None or result.value is None:
            continue
        line = _gauge(row, result, result.value, ranges.get(row.metric), baseline)
        line["href"] = link(row, uncounted=uncounted)
        lines.append(line)
    return lines


def outermost(rows: Sequence[NumberRow]) -> list[NumberRow]:
    """Returns the rows that are not inside another row."""
    outer: list[NumberRow] = []
    for row in rows:
        if not outer or row.depth <= outer[-1].depth:
            outer.append(row)
    return outer


def _gauge(
    row: NumberRow,
    result: Result,
    value: float,
    spread: Sequence[float] | None,
    baseline: BaselineColumn | None,
) -> dict[str, Any]:
    other = None
    if baseline is not None:
        baseline_result = baseline.values.get(Key(row.task, row.metric))
        other = None if baseline_result is None else baseline_result.value
    ends = [value, *(result.interval or ())]
    if other is not None:
        ends.append(other)
    scale = scale_for(ends, spread)
    low, high = result.interval or (value, value)
    interval = ""
    if result.interval is not None:
        interval = from_to(result.interval, DIGITS)
    marker = None
    if baseline is not None and other is not None:
        marker = {
            "name": baseline.header,
            "value": f"{other:.{DIGITS}f}",
            "at": _percent(scale, other),
        }
    return {
        "name": row.alias,
        "metric": row.metric,
        "better": "up" if row.higher_is_better else "down",
        "inner": row.depth > 0,
        "value": f"{value:.{DIGITS}f}",
        "interval": interval,
        "scored": f"{result.scored:,} of {result.n:,}",
        "zero": _percent(scale, 0.0),
        "at": _percent(scale, value),
        "low": _percent(scale, low),
        "high": _percent(scale, high),
        "beside": marker,
    }


def _percent(scale: AxisScale, value: float) -> float:
    return round(100 * scale.share(value), 2)
