"""The charts of a report: numbers of tasks and groups, breakdowns of each task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mmeval.records.score import Result
from mmeval.report.charts import radar as radars
from mmeval.report.charts.bars import ChartBar, bars
from mmeval.report.charts.svg import Drawing
from mmeval.results.numbers import NOT_THERE, NumberRow

MOST_BARS = 60
"""Bars or groups of bars in a chart; the title of one that leaves some out says so."""


@dataclass(frozen=True)
class Chart:
    """A chart: its name as a file's, its title, and what it shows in words. It is drawn
    on request. ``cut`` is the part of its rows that has a place (also in the title),
    empty for all. ``narrow`` draws it for a phone; None where another chart shows the
    same."""

    name: str
    title: str
    words: str
    draw: Callable[[], Drawing]
    narrow: Callable[[], Drawing] | None = None
    cut: str = ""


Ranges = Mapping[str, Sequence[float] | None]
"""The finite range of each metric, as far as it is known."""


def charts_of(
    rows: Sequence[NumberRow], names: Sequence[str], ranges: Ranges
) -> list[Chart]:
    """The charts of some rows of the runs ``names``. A number alone makes no chart."""
    return [*_whole(rows, names, ranges), *_breakdowns(rows, names, ranges)]


def ranges_of(
    documents: Iterable[Mapping[str, Any]],
) -> dict[str, Sequence[float] | None]:
    """The finite ranges of metrics in results files."""
    return {
        output: metric.get("range")
        for document in documents
        for metrics in document.get("mmeval", {}).get("metrics", {}).values()
        for name, metric in metrics.items()
        for output in metric.get("outputs", (name,))
    }


def _whole(
    rows: Sequence[NumberRow], names: Sequence[str], ranges: Ranges
) -> Iterator[Chart]:
    """Tasks and groups as wholes, one chart for the metrics of one range."""
    whole = [row for row in rows if not row.slice and row.is_known]
    for spread in dict.fromkeys(_range_key(row, ranges) for row in whole):
        found = [row for row in whole if _range_key(row, ranges) == spread]
        own = found[:MOST_BARS]
        if sum(len(row.results) for row in own) < 2:
            continue
        groups = [(f"{row.alias}, {row.metric}", _bars(row)) for row in own]
        cut = _cut(found, "row")
        title = _titled(
            "Tasks and groups"
            if isinstance(spread, tuple)
            else f"Tasks and groups: {spread}",
            cut,
        )
        known = spread if isinstance(spread, tuple) else None
        draw = partial(bars, title, groups, series=names, spread=known)
        suffix = (
            ""
            if isinstance(spread, tuple) and not spread[0] and spread[1] == 1
            else f"-{spread}"
        )
        yield Chart(
            f"tasks{suffix}",
            title,
            _in_words(own, names, whole=True),
            draw,
            partial(draw, narrow=True),
            cut,
        )


def _cut(rows: Sequence[NumberRow], what: str) -> str:
    """``the first 60 of 75 slices`` where not all rows have a place; else empty."""
    if len(rows) <= MOST_BARS:
        return ""
    return f"the first {MOST_BARS} of {len(rows):,} {what}s"


def _titled(title: str, cut: str) -> str:
    return f"{title} ({cut})" if cut else title


def _range_key(row: NumberRow, ranges: Ranges) -> tuple[float, ...] | str:
    """What rows share whose bars may stand on one axis: a range, else the metric."""
    spread = ranges.get(row.metric)
    return row.metric if spread is None else tuple(spread)


def _breakdowns(
    rows: Sequence[NumberRow], names: Sequence[str], ranges: Ranges
) -> Iterator[Chart]:
    found: dict[tuple[str, str], dict[str, list[NumberRow]]] = {}
    for row in rows:
        if row.slice:
            metrics = found.setdefault((row.task, row.slice.partition("=")[0]), {})
            metrics.setdefault(row.metric, []).append(row)
    for (_, label), metrics in found.items():
        for slices in metrics.values():
            if len(slices) > 1 and any(row.is_known for row in slices):
                yield from _breakdown(slices, label, names, ranges)


def _breakdown(
    slices: Sequence[NumberRow], label: str, names: Sequence[str], ranges: Ranges
) -> Iterator[Chart]:
    first, rows = slices[0], slices[:MOST_BARS]
    spread = ranges.get(first.metric)
    cut = _cut(slices, "slice")
    title = _titled(f"{first.alias}: {first.metric} by {label}", cut)
    levels = [row.slice.partition("=")[2] for row in rows]
    groups = [(level, _bars(row)) for level, row in zip(levels, rows, strict=True)]
    words = _in_words(rows, names, whole=False)
    draw = partial(bars, title, groups, series=names, spread=spread)
    yield Chart(
        f"{first.task}-{first.metric}-{label}",
        title,
        words,
        draw,
        partial(draw, narrow=True),
        cut,
    )
    if (
        radars.LEAST <= len(rows) <= radars.MOST
        and sum(row.is_known for row in rows) >= radars.LEAST
    ):
        outlines = [
            (name, [_value(row.results[at]) for row in rows])
            for at, name in enumerate(names)
        ]
        draw = partial(radars.radar, title, levels, outlines, spread=spread)
        yield Chart(
            f"{first.task}-{first.metric}-{label}-radar", f"{title} (radar)", "", draw
        )


def _bars(row: NumberRow) -> list[ChartBar]:
    return [
        ChartBar(
            _value(result),
            None if result is None else result.interval,
            series,
            absent or NOT_THERE,
        )
        for series, (result, absent) in enumerate(
            zip(row.results, row.absent, strict=True)
        )
    ]


def _value(result: Result | None) -> float | None:
    return None if result is None else result.value


def _in_words(rows: Sequence[NumberRow], names: Sequence[str], *, whole: bool) -> str:
    """Each run's lowest and highest number in words, for readers without the chart."""
    several = len(names) > 1
    said = []
    for at, name in enumerate(names):
        found = [
            (value, row)
            for row in rows
            if (value := _value(row.results[at])) is not None
        ]
        if len(found) > 1:
            (low, lowest), (high, highest) = (
                pick(found, key=lambda item: item[0]) for pick in (min, max)
            )
            if low == high and several:
                said.append(f"{name}: {low:.4f} everywhere")
            if low == high:
                continue
            ends = (
                f"lowest {low:.4f} ({_name(lowest, whole=whole)}), highest {high:.4f} "
                f"({_name(highest, whole=whole)})"
            )
            said.append(f"{name}: {ends}" if several else ends[:1].upper() + ends[1:])
        elif several:
            alone = "".join(
                f"{value:.4f} ({_name(row, whole=whole)}) alone" for value, row in found
            )
            said.append(f"{name}: {alone or 'no number'}")
    return "; ".join(said)


def _name(row: NumberRow, *, whole: bool) -> str:
    return f"{row.alias}, {row.metric}" if whole else row.slice.partition("=")[2]
