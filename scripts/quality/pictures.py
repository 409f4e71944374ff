"""The pictures of the study of quality: charts of the scores, and galleries of the
damaged media."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image

from mmeval import decode
from mmeval.backend.render import render
from mmeval.content.media import Media
from mmeval.report.charts.svg import Drawing, standalone
from scripts.quality.damages import PROFILES, Point, Study
from scripts.quality.material import RATE

PANEL, HEIGHT, LEFT, TOP, GAP, FOOT = 200.0, 150.0, 46.0, 42.0, 36.0, 84.0
"""Units: the axes of a panel, what stands around them, and between two."""
GRID = (0.0, 0.25, 0.5, 0.75, 1.0)
DASHES = ("none", "3 6")
"""The widths of the profiles' lines, so that the lower one stays visible."""
TILE = 96
"""Pixels of a damaged medium, each way."""
COLOURS = 128
"""Colours of the palette that keeps tiles small."""
INK = (59, 111, 182)
WINDOW, FLOOR = 4096, 40.0
"""Samples of a spectrum, and how many decibels below and above one are shown."""


def chart(
    title: str, studies: Sequence[Study], points: Sequence[Sequence[Point]]
) -> str:
    """A panel for each study and in it a line for each profile, as the content of an
    SVG file."""
    width = LEFT + len(studies) * PANEL + (len(studies) - 1) * GAP + 24
    drawing = Drawing(width, TOP + HEIGHT + FOOT, title)
    for at, (study, found) in enumerate(zip(studies, points, strict=True)):
        left = LEFT + at * (PANEL + GAP)
        drawing.text("label", study.title, left + PANEL / 2, 20, "middle")
        _axes(drawing, left, study)
        for number, profile in enumerate(PROFILES):
            _line(drawing, number, left, [point.qualities[profile] for point in found])
    for number, profile in enumerate(PROFILES):
        x, y = LEFT + number * 110, TOP + HEIGHT + FOOT - 10
        drawing.add("rect", f"bar series-{number}", x=x, y=y - 9, width=10, height=10)
        drawing.text("label", profile, x + 15, y)
    return standalone(drawing)


def _x(left: float, at: int, many: int) -> float:
    return left + at / (many - 1) * PANEL


def _y(value: float) -> float:
    return TOP + (1 - value) * HEIGHT


def _axes(drawing: Drawing, left: float, study: Study) -> None:
    for value in GRID:
        drawing.line("grid", left, _y(value), left + PANEL, _y(value))
        if left == LEFT:
            drawing.text("axis", f"{value:g}", left - 8, _y(value) + 4, "end")
    for at, step in enumerate(study.steps):
        drawing.text(
            "axis", f"{step:g}", _x(left, at, len(study.steps)), _y(0) + 20, "middle"
        )
    drawing.text("axis", study.unit, left + PANEL / 2, _y(0) + 40, "middle")


def _line(
    drawing: Drawing, number: int, left: float, values: Sequence[float | None]
) -> None:
    """A line through the values that there are, with a dot for each."""
    places = [
        (_x(left, at, len(values)), _y(value))
        for at, value in enumerate(values)
        if value is not None
    ]
    path = "M" + "L".join(f"{x:.2f} {y:.2f}" for x, y in places)
    drawing.add(
        "path",
        f"line series-{number}",
        d=path,
        fill="none",
        stroke_dasharray=DASHES[number],
    )
    for x, y in places:
        drawing.add("circle", f"bar series-{number}", cx=x, cy=y, r=4 - 1.5 * number)


def gallery(studies: Sequence[Study]) -> bytes:
    """A gallery of the media as a PNG: a row of tiles for each study, a tile for each
    strength."""
    columns = max(len(study.steps) for study in studies)
    whole = Image.new(
        "RGB",
        (columns * (TILE + 4) - 4, len(studies) * (TILE + 4) - 4),
        (255, 255, 255),
    )
    for row, study in enumerate(studies):
        for column, step in enumerate(study.steps):
            whole.paste(
                _tile(study.made(step), study), (column * (TILE + 4), row * (TILE + 4))
            )
    file = io.BytesIO()
    whole.quantize(COLOURS).save(file, "PNG", optimize=True)
    return file.getvalue()


def _tile(media: Media, study: Study) -> Image.Image:
    if study.kind == "image":
        return decode.image(media).convert("RGB").crop((0, 0, TILE, TILE))
    return _heard(media) if study.kind == "audio" else _seen(media)


def _heard(media: Media) -> Image.Image:
    """The spectrogram: frequencies from 40 Hz to 20 kHz upwards, the darker the
    louder."""
    samples = decode.audio(media).samples[:, 0]
    starts = np.linspace(0, len(samples) - WINDOW, TILE).astype(int)
    frames = np.stack([samples[at : at + WINDOW] for at in starts]) * np.hanning(WINDOW)
    power = np.abs(np.fft.rfft(frames)) ** 2
    bins = np.geomspace(40, 20_000, TILE) / RATE * WINDOW
    decibels = 10 * np.log10(
        np.stack([np.interp(bins, np.arange(power.shape[1]), row) for row in power])
        + 1e-6
    )
    share = np.clip((decibels + FLOOR) / (2 * FLOOR), 0, 1).T[::-1, :, None]
    return Image.fromarray(np.asarray(255 - share * (255 - np.array(INK)), np.uint8))


def _seen(media: Media) -> Image.Image:
    """The view from above."""
    picture = decode.image(render(decode.mesh_arrays(media)).picture)
    return picture.crop((0, 0, picture.height, picture.height)).resize((TILE, TILE))
