"""The structure scores of UniM on gold answers damaged step by step, as numbers and as
a picture.

The gold answers are synthetic, with the pairs of modalities that the paper lists for
outputs, since answers of the data set cannot be shipped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mmeval.content.parts import Interleaved, PartKind
from mmeval.content.placeholders import render
from mmeval.report.charts.svg import Drawing, standalone
from scripts.unim_damage import STEPS, Damage, Point, curve

PAIRS: Sequence[tuple[PartKind, PartKind]] = (
    ("image", "audio"),
    ("video", "audio"),
    ("image", "document"),
)
"""The pairs of modalities besides text in answers, by the paper's table of combinations
(its table 9)."""
SIZES = ((3, 1), (1, 3), (4, 2), (3, 3))
"""The number of items of each: at least three of one, as in the paper."""
DRAWS = 50
TITLES: dict[Damage, str] = {"RT": "whole modalities (RT)", "RN": "single items (RN)"}
SCORES = ("strict (StS)", "lenient (LeS)")
PANEL, HEIGHT, LEFT, TOP, GAP, FOOT = 250.0, 180.0, 46.0, 42.0, 56.0, 66.0
"""Units: the axes of a panel, what stands around them, and between two."""
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


class Panel(NamedTuple):
    """Where a curve is drawn: the left end of its axes."""

    left: float

    def x(self, k: int) -> float:
        return self.left + (k - STEPS[0]) / (STEPS[-1] - STEPS[0]) * PANEL

    @staticmethod
    def y(value: float) -> float:
        return TOP + (1 - value) * HEIGHT


def gold_answers() -> Iterator[Interleaved]:
    """The answers that are damaged."""
    for pair in PAIRS:
        for size in SIZES:
            tags = [
                render(kind, n)  # type: ignore[arg-type]
                for kind, many in zip(pair, size, strict=True)
                for n in range(1, many + 1)
            ]
            yield Interleaved.from_text(f"First {', then '.join(tags)}.")


def curves() -> dict[Damage, list[Point]]:
    """The mean scores by damage."""
    answers = list(gold_answers())
    return {damage: curve(answers, damage, draws=DRAWS) for damage in TITLES}


def picture() -> str:
    """The curves as the content of an SVG file: a panel for each damage, a line for
    each score."""
    width = LEFT + len(TITLES) * PANEL + (len(TITLES) - 1) * GAP + 24
    drawing = Drawing(
        width,
        TOP + HEIGHT + FOOT,
        "Structure scores of gold answers that are damaged step by step",
    )
    for at, (damage, points) in enumerate(curves().items()):
        panel = Panel(LEFT + at * (PANEL + GAP))
        drawing.text("label", TITLES[damage], panel.left + PANEL / 2, 20, "middle")
        _axes(drawing, panel)
        _line(
            drawing,
            0,
            [(panel.x(point.k), panel.y(float(point.strict))) for point in points],
        )
        _line(
            drawing,
            1,
            [(panel.x(point.k), panel.y(float(point.lenient))) for point in points],
            dashes="3 6",
        )
    for number, name in enumerate(SCORES):
        x, y = LEFT + number * 130, TOP + HEIGHT + FOOT - 10
        drawing.add("rect", f"bar series-{number}", x=x, y=y - 9, width=10, height=10)
        drawing.text("label", name, x + 15, y)
    drawing.text(
        "axis", "k: so many less, or more", width - 24, TOP + HEIGHT + FOOT - 10, "end"
    )
    return standalone(drawing)


def _axes(drawing: Drawing, panel: Panel) -> None:
    for value in GRID:
        drawing.line(
            "grid", panel.left, panel.y(value), panel.left + PANEL, panel.y(value)
        )
        drawing.text("axis", f"{value:g}", panel.left - 8, panel.y(value) + 4, "end")
    for k in STEPS:
        drawing.text(
            "axis", f"{k:+d}" if k else "0", panel.x(k), panel.y(0) + 20, "middle"
        )


def _line(
    drawing: Drawing,
    number: int,
    points: Sequence[tuple[float, float]],
    *,
    dashes: str = "none",
) -> None:
    """A line with its points. Dashes keep the line below visible."""
    path = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in points)
    drawing.add(
        "path", f"line series-{number}", d=path, fill="none", stroke_dasharray=dashes
    )
    for x, y in points:
        drawing.add("circle", f"bar series-{number}", cx=x, cy=y, r=4 - 1.5 * number)
