"""Chooses the charts of a report: tasks and groups, and breakdowns of each task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from mmeval.records.score import Result
from mmeval.report.charts.bars import ChartBar, bars
from mmeval.report.charts.radar import radar
from mmeval.report.charts.series import ChartSeries
from mmeval.report.charts.svg import Drawing
from mmeval.results.numbers import NOT_THERE, NumberRow
from mmeval.task.chart_limits import RADAR_CORNERS

MOST_BARS = 60
"""The largest number of bars or groups of bars in a chart. The title states if some are
left out."""


@dataclass(frozen=True)
class Chart:
    """A chart that is drawn on request: the name of its file, its title, and its
    content in words. ``cut`` states which rows are shown (also in the title); it is
    empty if all are shown. ``narrow`` draws the chart for a phone. It is None for a
    radar chart, because a bar chart shows the same numbers."""

    name: str
    title: str
    words: str
    draw: Callable[[], Drawing]
    narrow: Callable[[], Drawing] | None = None
    cut: str = ""


Ranges = Mapping[str, Sequence[float] | None]
"""The finite range of each metric, if it is known."""


def charts_of(
    rows: Sequence[NumberRow], names: Sequence[str], ranges: Ranges
) -> list[Chart]:
    """Returns the charts of the rows, for the runs in ``names``. A single number is not
    drawn as a chart."""
    # whole tasks and groups, with one chart for all metrics of the same range
    by_range: dict[tuple[float, ...] | str, list[NumberRow]] = {}
    breakdowns: dict[tuple[str, str], dict[str, list[NumberRow]]] = {}
    for row in rows:
        if row.slice:
            label = row.slice.partition("=")[0]
            metrics = breakdowns.setdefault((row.task, label), {})
            metrics.setdefault(row.metric, []).append(row)
        elif row.is_known:
            spread = ranges.get(row.metric)
            key = row.metric if spread is None else tuple(spread)
            by_range.setdefault(key, []).append(row)
    charts = []
    for key, rows_of_range in by_range.items():
        if sum(len(row.results) for row in rows_of_range[:MOST_BARS]) >= 2:
            charts.append(_whole(rows_of_range, key, names))
    for (_, label), metrics in breakdowns.items():
        for slices in metrics.values():
            if len(slices) > 1 and any(row.is_known for row in slices):
                charts += _breakdown(slices, label, names, ranges)
    return charts


def ranges_of(
    documents: Iterable[Mapping[str, Any]],
) -> dict[str, Sequence[float] | None]:
    """Returns the finite ranges of the metrics in results files."""
    ranges = {}
    for document in documents:
        ours = document.get("mmeval", {})
        for metrics in ours.get("metrics", {}).values():
            for name, metric in metrics.items():
                for output in metric.get("outputs", (name,)):
                    ranges[output] = metric.get("range")
    return ranges


def _whole(
    rows: Sequence[NumberRow], key: tuple[float, ...] | str, names: Sequence[str]
) -> Chart:
    """Returns the chart of the tasks and groups whose numbers share an axis. ``key`` is
    the range of these numbers, or else their metric."""
    shown = rows[:MOST_BARS]
    groups = [(f"{row.alias}, {row.metric}", _bars(row)) for row in shown]
    cut = _cut(rows, "row")
    title, spread = "Tasks and groups", None
    if isinstance(key, str):
        title += f": {key}"
    else:
        spread = key
    if cut:
        title += f" ({cut})"
    draw = partial(bars, title, groups, series=_series(names), spread=spread)
    name = "tasks" if key == (0, 1) else f"tasks-{key}"
    words = _in_words(shown, names, whole=True)
    return Chart(name, title, words, draw, partial(draw, narrow=True), cut)


def _cut(rows: Sequence[NumberRow], what: str) -> str:
    """Returns ``the first 60 of 75 slices`` if rows are left out, or else an empty
    string."""
    if len(rows) <= MOST_BARS:
        return ""
    return f"the first {MOST_BARS} of {len(rows):,} {what}s"


def _breakdown(
    slices: Sequence[NumberRow], label: str, names: Sequence[str], ranges: Ranges
) -> Iterator[Chart]:
    first, rows = slices[0], slices[:MOST_BARS]
    spread = ranges.get(first.metric)
    cut = _cut(slices, "slice")
    title = f"{first.alias}: {first.metric} by {label}"
    if cut:
        title += f" ({cut})"
    levels = [row.slice.partition("=")[2] for row in rows]
    groups = list(zip(levels, map(_bars, rows), strict=True))
    words = _in_words(rows, names, whole=False)
    draw = partial(bars, title, groups, series=_series(names), spread=spread)
    name = f"{first.task}-{first.metric}-{label}"
    yield Chart(name, title, words, draw, partial(draw, narrow=True), cut)
    known = sum(row.is_known for row in rows)
    least, most = RADAR_CORNERS
    if len(rows) <= most and known >= least:
        outlines = []
        for position, run in enumerate(names):
            of_run = ChartSeries(run)
            outlines.append((of_run, [_value(row.results[position]) for row in rows]))
        draw = partial(radar, title, levels, outlines, spread=spread)
        yield Chart(f"{name}-radar", f"{title} (radar)", "", draw)


def _bars(row: NumberRow) -> list[ChartBar]:
    bars_of_row = []
    for series, result in enumerate(row.results):
        interval = None if result is None else result.interval
        absent = row.absent[series] or NOT_THERE
        bars_of_row.append(ChartBar(_value(result), interval, series, absent))
    return bars_of_row


def _series(names: Sequence[str]) -> list[ChartSeries]:
    return [ChartSeries(name) for name in names]


def _value(result: Result | None) -> float | None:
    return None if result is None else result.value


def _in_words(
    rows: Sequence[NumberRow],
    names: Sequence[str],
    *,
    whole: bool,
) -> str:
    """Describes each run's lowest and highest number in words, for readers without the
    chart."""
    several = len(names) > 1
    sentences = []
    for run, name in enumerate(names):
        values: list[tuple[float, str]] = []
        for row in rows:
            value = _value(row.results[run])
            level = row.slice.partition("=")[2]
            if value is not None:
                values.append((value, f"{row.alias}, {row.metric}" if whole else level))
        words = ""
        if len(values) > 1:
            low, lowest = min(values, key=itemgetter(0))
            high, highest = max(values, key=itemgetter(0))
            if low < high:
                words = f"lowest {low:.4f} ({lowest}), highest {high:.4f} ({highest})"
            elif several:
                words = f"{low:.4f} everywhere"
        elif several:
            words = "no number"
            for value, place in values:
                words = f"only {value:.4f} ({place})"
        if several:
            sentences.append(f"{name}: {words}")
        elif words:
            sentences.append(words[:1].upper() + words[1:])
    return "; ".join(sentences)
