"""Fill: whether only a region or border is filled with the requested colour."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from mmeval.metric import metric
from mmeval.metrics.image.colors import COLORS, Color, ColorRule, color_fault
from mmeval.metrics.image.pictures import the_only
from mmeval.metrics.image.ssim import SMALLEST, ssim_of
from mmeval.metrics.produced import wrong
from mmeval.records import Sample, Score, Trial
from mmeval.system import Condition

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels

_SOURCE = "MMMG, Region Fill and Border Fill; official: image evaluators 6c7142e8"


def _shares_fault(count: int) -> Condition:
    def fault(values: Any) -> str:
        is_rising = len(values) == count and sorted(values) == list(values)
        if is_rising and all(0 < value < 1 for value in values):
            return ""
        return f"{count} rising shares between 0 and 1"

    return Condition(fault)


Share = Annotated[
    float, Condition(lambda value: "" if 0 < value < 1 else "a share between 0 and 1")
]
Two = Annotated[Sequence[float], _shares_fault(2)]
Three = Annotated[Sequence[float], _shares_fault(3)]


def _check_region(sample: Sample, switches: Mapping[str, Any]) -> str:
    fault = region_fault(sample, switches["region_key"])
    return fault or _check_color(sample, switches)


def _check_color(sample: Sample, switches: Mapping[str, Any]) -> str:
    return color_fault(sample, switches["color_key"], switches["colors"])


@metric(range=(0, 1), version="2", source=_SOURCE, check=_check_region)
def region_fill(
    trial: Trial,
    *,
    region_key: str = "region",
    color_key: str = "color",
    colors: Mapping[str, Color] = COLORS,
    half: Share = 0.5,
    thirds: Two = (0.33, 0.67),
    quarters: Three = (0.25, 0.5, 0.75),
    black_white_distance: float = 38.4,
    hue_low: float = 0.15,
    hue_high: float = 0.85,
    penalty_distance: float = 16.0,
) -> Score:
    """How evenly a region has the requested colour, minus how far the fill runs over.

    Range 0 to 1, higher is better. The value is the SSIM between the region and an even
    area of its mean colour, minus the share of pixels with that colour in the band
    beside it, and at least 0. It is 0 if the mean colour is not the requested colour.
    White and black are compared by their distance in RGB, other colours by hue alone.
    Grey has hue 0, so by the benchmark's rule it passes as red and as orange.

    The answer must have exactly one picture that can be decoded, with a region of at
    least 7 pixels on each side. Otherwise it scores 0, with the ``reason`` as evidence.
    Transparency is dropped. Unscored if the labels do not name a region and a colour.

    Not measured: what the rest of the picture shows.

    Labels, for example: ``{"region": "left half", "color": "green"}``.

    Switches:

    - ``region_key``: the label with the region: ``left``, ``right``, ``upper`` or
      ``lower``, and ``half``, ``third`` or ``quarter``.
    - ``color_key``: the label with the name of the colour.
    - ``colors``: the colours by name, each as red, green and blue.
    - ``half``, ``thirds``, ``quarters``: where regions end, as shares of the side.
    - ``black_white_distance``: the largest allowed distance from white or black, from 0
      to 441.
    - ``hue_low``, ``hue_high``: hues are from 0 to 1 on a circle. A hue is wrong if it
      differs by more than ``hue_low`` and less than ``hue_high``.
    - ``penalty_distance``: a pixel in the band counts as filled if the distance of its
      colour from the mean colour is at most this.

    Evidence: ``ssim``, ``penalty``, ``avg_color`` and ``color_ok``.
    """
    fault = region_fault(trial.sample, region_key)
    fault = fault or color_fault(trial.sample, color_key, colors)
    pixels = Score.unscored(fault) if fault else the_only(trial)
    if isinstance(pixels, Score):
        return pixels
    labels = trial.sample.metadata
    name = labels[color_key]
    bands = bands_of(labels[region_key], half=half, thirds=thirds, quarters=quarters)
    region = bands.cut(pixels, bands.region)
    beside = bands.cut(pixels, bands.beside)
    rule = ColorRule(black_white_distance, hue_low, hue_high)
    return _filled(
        region, beside, TargetColor(name, colors[name], rule, penalty_distance)
    )


@metric(range=(0, 1), version="2", source=_SOURCE, check=_check_color)
def border_fill(
    trial: Trial,
    *,
    color_key: str = "color",
    colors: Mapping[str, Color] = COLORS,
    border: Annotated[
        float,
        Condition(lambda value: "" if 0 < value < 0.5 else "a share between 0 and 0.5"),
    ] = 0.1,
    black_white_distance: float = 38.4,
    hue_low: float = 0.15,
    hue_high: float = 0.85,
    penalty_distance: float = 16.0,
) -> Score:
    """How evenly the border has the requested colour, minus how far it runs inside.

    Range 0 to 1, higher is better. The border consists of four strips, one on each side
    of the square in the middle of the picture. The strips are joined and scored like a
    region of ``region_fill``. The band beside them is the border of the inner part,
    with the same share of its size.

    The answer must have exactly one picture that can be decoded, with a border of at
    least 7 pixels on each side. Otherwise it scores 0, with the ``reason`` as evidence.
    Unscored if the label does not name a colour.

    Not measured: the picture inside the border.

    Labels, for example: ``{"color": "blue"}``.

    Switches: ``border`` is the width of the border, as a share of the picture's width
    and height. ``color_key``, ``colors``, ``black_white_distance``, ``hue_low``,
    ``hue_high`` and ``penalty_distance`` are as in ``region_fill``.

    Evidence: as in ``region_fill``.
    """
    fault = color_fault(trial.sample, color_key, colors)
    pixels = Score.unscored(fault) if fault else the_only(trial)
    if isinstance(pixels, Score):
        return pixels
    name = trial.sample.metadata[color_key]
    rule = ColorRule(black_white_distance, hue_low, hue_high)
    strip = border_strip(pixels, border)
    beside = border_strip(inside(pixels, border), border)
    return _filled(
        strip, beside, TargetColor(name, colors[name], rule, penalty_distance)
    )


class TargetColor(NamedTuple):
    """The requested colour of an area, and the rules for comparing colours."""

    name: str
    color: Color
    rule: ColorRule
    penalty_distance: float


def _filled(
    area: Pixels,
    beside: Pixels,
    target: TargetColor,
) -> Score:
    import numpy

    height, width = area.shape[:2]
    if min(height, width) < SMALLEST:
        return wrong(
            f"the area is {width} x {height}, but needs at least {SMALLEST} pixels a "
            "side"
        )
    totals = area.sum(axis=(0, 1), dtype=numpy.int64)
    mean = (totals // (height * width)).tolist()
    even = numpy.empty_like(area)
    even[:] = mean
    similarity = ssim_of(area, even)
    color_ok = target.rule.passes(mean, target.name, target.color)
    penalty = share_near(beside, mean, target.penalty_distance)
    value = max(0.0, similarity - penalty) if color_ok else 0.0
    evidence = {
        "ssim": similarity,
        "penalty": penalty,
        "avg_color": mean,
        "color_ok": color_ok,
    }
    return Score(value, evidence=evidence)


def share_near(
    pixels: Pixels,
    color: Color,
    distance: float,
) -> float:
    """Returns the share of pixels within a distance of a colour in RGB.

    The share is 0 if there are no pixels.
    """
    import numpy

    if not pixels.size:
        return 0.0
    differences = pixels.astype(numpy.int32)
    differences -= numpy.asarray(color, dtype=numpy.int32)
    differences *= differences
    squares = differences.sum(axis=2)
    return float(numpy.count_nonzero(squares <= distance * distance) / squares.size)


Span = tuple[float, float]
"""The start and end of a part, as shares of a picture's side."""


class Bands(NamedTuple):
    """A region and the band beside it, along the width or the height."""

    along: str
    region: Span
    beside: Span

    def cut(self, pixels: Pixels, span: Span) -> Pixels:
        """Cuts a part out of a picture. Coordinates are rounded, half to even."""
        height, width = pixels.shape[:2]
        start, end = span
        if self.along == "width":
            return pixels[:, round(start * width) : round(end * width)]
        return pixels[round(start * height) : round(end * height)]


_SIDES = {"left": "width", "upper": "height", "right": "width", "lower": "height"}
_PARTS = ("half", "third", "quarter")


def region_fault(sample: Sample, key: str) -> str:
    """Returns why a label does not name a region, or an empty string if it does."""
    region = sample.metadata.get(key)
    words = region.split() if isinstance(region, str) else []
    if len(words) == 2 and words[0] in _SIDES and words[1] in _PARTS:
        return ""
    form = f"one of {', '.join(_SIDES)} and one of {', '.join(_PARTS)}"
    return (
        f"the row's label {key!r} must be {form}, such as 'left half', not "
        f"{region!r:.80}"
    )


def bands_of(
    region: str,
    *,
    half: float = 0.5,
    thirds: Sequence[float] = (0.33, 0.67),
    quarters: Sequence[float] = (0.25, 0.5, 0.75),
) -> Bands:
    """Returns the bands of a region, given its name.

    >>> bands_of("lower third")
    Bands(along='height', region=(0.67, 1), beside=(0.33, 0.67))
    """
    side, part = region.split()
    if part == "half":
        edges = [0, half, 1]
    elif part == "third":
        edges = [0, *thirds, 1]
    else:
        edges = [0, *quarters, 1]
    spans = list(itertools.pairwise(edges))
    if side in ("right", "lower"):
        spans.reverse()
    filled, beside = spans[:2]
    return Bands(_SIDES[side], filled, beside)


def border_strip(pixels: Pixels, border: float) -> Pixels:
    """Returns the four strips of a picture's border, joined one below the other.

    The strips are in the order top, left, right, bottom. Each strip is as long as the
    picture's shorter side. The left and right strips are rotated by 90 degrees
    counterclockwise.
    """
    import numpy

    height, width = pixels.shape[:2]
    side = min(width, height)
    across, down = round(border * width), round(border * height)
    x, y = (width - side) // 2, (height - side) // 2
    columns, rows = pixels[:, x : x + side], pixels[y : y + side]
    above, below = columns[:down], columns[height - down :]
    left, right = rows[:, :across], rows[:, width - across :]
    return numpy.concatenate([above, numpy.rot90(left), numpy.rot90(right), below])


def inside(pixels: Pixels, border: float) -> Pixels:
    """Returns the part of a picture inside its border."""
    height, width = pixels.shape[:2]
    top, bottom = round(border * height), round((1 - border) * height)
    left, right = round(border * width), round((1 - border) * width)
    return pixels[top:bottom, left:right]
