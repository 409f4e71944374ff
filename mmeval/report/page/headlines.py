"""Builds the gauges of the first screen: each headline's value and 95 % interval by
run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mmeval.records.score import Key
from mmeval.report.baseline import BaselineColumn
from mmeval.report.charts.bars import SERIES
from mmeval.report.charts.scale import AxisScale, scale_for
from mmeval.report.page.tables import link
from mmeval.results.notes import from_to
from mmeval.results.numbers import NumberRow

MOST_LINES = 6
"""The largest number of gauges on the first screen. The table below has all numbers."""
DIGITS = 3

Ranges = Mapping[str, Sequence[float] | None]


def headline_gauges(
    rows: Sequence[NumberRow],
    names: Sequence[str],
    ranges: Ranges,
    *,
    uncounted: bool = False,
    baseline: BaselineColumn | None = None,
) -> list[dict[str, Any]]:
    """Returns the headline rows with a value, for the template. If there are too many,
    only the outermost rows are included."""
    known = [row for row in rows if row.is_known]
    most = max(1, MOST_LINES // min(len(names), SERIES))
    shown = known
    if len(known) > most:
        # only rows that are not inside another row
        shown = []
        for row in known:
            if not shown or row.depth <= shown[-1].depth:
                shown.append(row)
    lines = []
    for row in shown[:most]:
        line = _row(row, names, ranges.get(row.metric), baseline)
        line["href"] = link(row, uncounted=uncounted)
        lines.append(line)
    return lines


def _row(
    row: NumberRow,
    names: Sequence[str],
    spread: Sequence[float] | None,
    baseline: BaselineColumn | None,
) -> dict[str, Any]:
    ends: list[float] = []
    for result in row.results:
        if result is not None and result.value is not None:
            ends += (result.value, *(result.interval or ()))
    other = None
    if baseline is not None:
        baseline_result = baseline.values.get(Key(row.task, row.metric))
        other = None if baseline_result is None else baseline_result.value
    if other is not None:
        ends.append(other)
    scale = scale_for(ends, spread)

    gauges = []
    for series, name in enumerate(names):
        result = row.results[series]
        if result is None or result.value is None:
            continue
        low, high = result.interval or (result.value, result.value)
        interval = ""
        if result.interval is not None:
            interval = from_to(result.interval, DIGITS)
        gauge = {
            "name": name if len(names) > 1 else "",
            "series": series,
            "value": f"{result.value:.{DIGITS}f}",
            "interval": interval,
            "scored": f"{result.scored:,} of {result.n:,}",
            "zero": _percent(scale, 0.0),
            "at": _percent(scale, result.value),
            "low": _percent(scale, low),
            "high": _percent(scale, high),
        }
        gauges.append(gauge)
    marker = None
    if baseline is not None and other is not None:
        value = f"{other:.{DIGITS}f}"
        place = _percent(scale, other)
        marker = {"name": baseline.header, "value": value, "at": place}
    return {
        "name": row.alias,
        "metric": row.metric,
        "better": "up" if row.higher_is_better else "down",
        "inner": row.depth > 0,
        "gauges": gauges[:SERIES],
        "beside": marker,
    }


def _percent(scale: AxisScale, value: float) -> float:
    return round(100 * scale.share(value), 2)
