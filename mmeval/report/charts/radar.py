"""A radar: values of several slices around a centre, one outline a series."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mmeval.report.charts.bars import SERIES
from mmeval.report.charts.scale import Scale, scale_for, shown
from mmeval.report.charts.svg import CHAR_WIDTH, Drawing, fitted

LABEL_CHARS = 19
WIDTH, RADIUS, TOP = 640.0, 150.0, 40.0
MIDDLE = TOP + RADIUS
LEAST, MOST = 3, 16
"""Slices of which a radar is made: fewer are a line, of more the labels stand upon each
other."""


def radar(
    title: str,
    labels: Sequence[str],
    series: Sequence[tuple[str, Sequence[float | None]]],
    *,
    spread: Sequence[float] | None = None,
) -> Drawing:
    """A radar chart: one value a label for each series, an open outline without one.
    A series without any value is left out of the legend."""
    scale = scale_for(
        [value for _, values in series for value in values if value is not None], spread
    )
    drawn = {
        name: at
        for at, (name, values) in enumerate(series)
        if any(value is not None for value in values)
    }
    names = drawn if len(series) > 1 else {}
    bottom = max(_point(at, len(labels), 1.15)[1] for at in range(len(labels))) + 24
    drawing = Drawing(WIDTH, bottom + 20 * len(names), title)
    for tick in scale.ticks:
        if scale.share(tick):
            ring = [
                _point(at, len(labels), scale.share(tick)) for at in range(len(labels))
            ]
            drawing.add("path", "grid", d=_path([ring], closed=True), fill="none")
            drawing.text(
                "axis",
                shown(tick),
                WIDTH / 2 + 3,
                MIDDLE - scale.share(tick) * RADIUS - 2,
            )
    for at, label in enumerate(labels):
        x, y = _point(at, len(labels), 1.0)
        drawing.line("grid", WIDTH / 2, MIDDLE, x, y)
        x, y = _point(at, len(labels), 1.15)
        anchor = (
            "middle"
            if abs(x - WIDTH / 2) < CHAR_WIDTH
            else "start"
            if x > WIDTH / 2
            else "end"
        )
        drawing.text("label", fitted(label, LABEL_CHARS), x, y + 4, anchor)
    for number, (_, values) in enumerate(series):
        _outline(drawing, values, scale, number)
    for line, (name, number) in enumerate(names.items()):
        y = bottom + 20 * line
        drawing.add(
            "rect", f"bar series-{number % SERIES}", x=8, y=y, width=10, height=10
        )
        drawing.text("label", fitted(name, 60), 23, y + 9)
    return drawing


def _outline(
    drawing: Drawing, values: Sequence[float | None], scale: Scale, number: int
) -> None:
    colour = f"series-{number % SERIES}"
    points = [
        None if v is None else _point(at, len(values), scale.share(v))
        for at, v in enumerate(values)
    ]
    known = [point for point in points if point is not None]
    if len(known) == len(points):
        drawing.add(
            "path", f"area {colour}", d=_path([known], closed=True), fill_opacity="0.15"
        )
        drawing.add(
            "path", f"line {colour}", d=_path([known], closed=True), fill="none"
        )
    else:
        drawing.add(
            "path", f"line {colour}", d=_path(_runs(points), closed=False), fill="none"
        )
    for x, y in known:
        drawing.add("circle", f"bar {colour}", cx=x, cy=y, r=3)


def _runs(
    points: Sequence[tuple[float, float] | None],
) -> list[list[tuple[float, float]]]:
    """The stretches of known points, around the circle."""
    start = points.index(None)
    runs: list[list[tuple[float, float]]] = [[]]
    for point in (*points[start:], *points[:start]):
        if point is None:
            runs.append([])
        else:
            runs[-1].append(point)
    return [run for run in runs if run]


def _path(runs: Sequence[Sequence[tuple[float, float]]], *, closed: bool) -> str:
    lines = ("M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in run) for run in runs)
    return "".join(lines) + ("Z" if closed else "")


def _point(at: int, of: int, share: float) -> tuple[float, float]:
    angle = 2 * math.pi * at / of - math.pi / 2
    return WIDTH / 2 + RADIUS * share * math.cos(
        angle
    ), MIDDLE + RADIUS * share * math.sin(angle)
