"""Colours by name, and the rule that decides whether an area has a colour."""

from __future__ import annotations

import colorsys
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from mmeval.records import Sample

Color: TypeAlias = Sequence[int]
"""Red, green and blue, each from 0 to 255."""

COLORS: Mapping[str, Color] = {
    "green": [0, 128, 0],
    "blue": [0, 0, 255],
    "yellow": [255, 255, 0],
    "white": [255, 255, 255],
    "black": [0, 0, 0],
    "pink": [255, 128, 255],
    "red": [255, 0, 0],
    "orange": [255, 128, 0],
    "purple": [128, 0, 128],
    "cyan": [0, 255, 255],
}
"""The colours of MMMG."""
WITHOUT_HUE = ("white", "black")
"""Colours without a hue, which are compared by their distance in RGB."""


class ColorRule(NamedTuple):
    """The rule that decides whether a mean colour is the requested colour.

    White and black must be at most ``black_white_distance`` away in RGB (0 to 441). For
    other colours, the two hues on a circle from 0 to 1 must differ by at most
    ``hue_low`` or at least ``hue_high``.
    """

    black_white_distance: float
    hue_low: float
    hue_high: float

    def passes(
        self,
        mean: Color,
        name: str,
        target: Color,
    ) -> bool:
        """Applies MMMG's rule, which compares colours by hue alone.

        Grey has hue 0, so it passes as red and orange.
        """
        if name in WITHOUT_HUE:
            return math.dist(mean, target) <= self.black_white_distance
        return not self.hue_low < abs(hue(mean) - hue(target)) < self.hue_high


def hue(color: Color) -> float:
    """Returns the hue from 0 to 1, or 0 for grey.

    >>> hue([0, 255, 255])
    0.5
    """
    red, green, blue = (part / 255 for part in color)
    return colorsys.rgb_to_hsv(red, green, blue)[0]


def color_fault(
    sample: Sample,
    key: str,
    colors: Mapping[str, Any],
) -> str:
    """Returns why a label does not name a colour, or an empty string if it does."""
    name = sample.metadata.get(key)
    if not isinstance(name, str) or name not in colors:
        return (
            f"the row's label {key!r} must be one of {', '.join(map(str, colors))}, "
            f"not {name!r:.80}"
        )
    color = colors[name]
    fault = (
        f"the colour {name!r} of the switch 'colors' must be three numbers from 0 to "
        f"255, not {color!r:.80}"
    )
    if not isinstance(color, (list, tuple)) or len(color) != 3:
        return fault
    for part in color:
        if not isinstance(part, (int, float)) or not 0 <= part <= 255:
            return fault
    return ""
