"""Draws radar charts: values of slices around a centre, with an outline for each
series."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mmeval.report.charts.scale import AxisScale, scale_for, shown
from mmeval.report.charts.series import ChartSeries, Legend, style_of
from mmeval.report.charts.svg import CHAR_WIDTH, Drawing, fitted

LABEL_CHARS = 19
NAME_CHARS = 60
MOST_AREAS = 3
"""The largest number of series with filled outlines. More areas on top of each
other would hide the outlines."""
WIDTH, RADIUS, TOP = 640.0, 150.0, 40.0
MIDDLE = TOP + RADIUS
Point = tuple[float, float]


def radar(
    title: str,
    labels: Sequence[str],
    series: Sequence[tuple[ChartSeries, Sequence[float | None]]],
    *,
    spread: Sequence[float] | None = None,
) -> Drawing:
    """Draw a radar chart with a value for each label and series. A missing value leaves
    a gap in the outline. A series without any value is not in the legend."""
    known: list[float] = []
    named: list[tuple[int, ChartSeries]] = []
    for number, (own, values) in enumerate(series):
        series_values = [value for value in values if value is not None]
        known += series_values
        if series_values and len(series) > 1:
            named.append((number, own))
    legend = Legend(named, WIDTH, NAME_CHARS)
    scale = scale_for(known, spread)
    around = _circle(len(labels), 1.15)
    bottom = max(y for _, y in around) + 24
    drawing = Drawing(WIDTH, bottom + legend.height, title)
    for tick in scale.ticks:
        share = scale.share(tick)
        if share:
            ring = _path([_circle(len(labels), share)], closed=True)
            drawing.add("path", "grid", d=ring, fill="none")
            y = MIDDLE - share * RADIUS - 2
            drawing.text("axis", shown(tick), WIDTH / 2 + 3, y)
    for place, (x, y) in enumerate(around):
        drawing.line("grid", WIDTH / 2, MIDDLE, *_point(place, len(labels), 1.0))
        anchor = "start" if x > WIDTH / 2 else "end"
        if abs(x - WIDTH / 2) < CHAR_WIDTH:
            anchor = "middle"
        drawing.text("label", fitted(labels[place], LABEL_CHARS), x, y + 4, anchor)
    for number, (own, values) in enumerate(series):
        if all(value is None for value in values):
            continue
        style = style_of(number, own)
        _outline(drawing, values, scale, style, is_filled=len(series) <= MOST_AREAS)
    legend.draw(drawing, bottom)
    return drawing


def _outline(
    drawing: Drawing,
    values: Sequence[float | None],
    scale: AxisScale,
    style: str,
    *,
    is_filled: bool,
) -> None:
    points = []
    for place, value in enumerate(values):
        share = None if value is None else scale.share(value)
        points.append(None if share is None else _point(place, len(values), share))
    known = [point for point in points if point is not None]
    if len(known) == len(points):
        path = _path([known], closed=True)
        if is_filled:
            drawing.add("path", f"area {style}", d=path, fill_opacity="0.15")
    else:
        # runs of consecutive known points, around the circle
        start = points.index(None)
        stretches: list[list[Point]] = [[]]
        for point in (*points[start:], *points[:start]):
            if point is None:
                stretches.append([])
            else:
                stretches[-1].append(point)
        path = _path([stretch for stretch in stretches if stretch], closed=False)
    drawing.add("path", f"line {style}", d=path, fill="none")
    for x, y in known:
        drawing.add("circle", f"bar {style}", cx=x, cy=y, r=3)


def _path(stretches: Sequence[Sequence[Point]], *, closed: bool) -> str:
    path = ""
    for points in stretches:
        path += "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
    return f"{path}Z" if closed else path


def _circle(count: int, share: float) -> list[Point]:
    return [_point(place, count, share) for place in range(count)]


def _point(
    place: int,
    count: int,
    share: float,
) -> Point:
    angle = 2 * math.pi * place / count - math.pi / 2
    distance = RADIUS * share
    return WIDTH / 2 + distance * math.cos(angle), MIDDLE + distance * math.sin(angle)
