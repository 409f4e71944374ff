"""Joins boxes of text (from OCR engines or PDF text layers) into lines by position."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from mmeval.media.decode import TextBox

COLUMN_GAP = 0.8
"""A gap wider than this share of a line's height separates two columns."""
TOUCHING_GAP = 0.05
"""Boxes whose gap or overlap is at most this share of a line's height form one word."""
COLUMN = "  "
"""The separator of two columns."""


def joined_lines(boxes: Sequence[TextBox]) -> list[str]:
    """Joins boxes into lines, from top to bottom and from left to right.

    A box belongs to a line if it is close to the line's first box: the vertical
    distance of their centres must be less than half the smaller height. Columns are
    separated by two spaces.
    """
    lines: list[list[TextBox]] = []
    for box in sorted(boxes, key=_middle):
        if lines:
            first = lines[-1][0]
            distance = abs(_middle(first) - _middle(box))
            if distance < min(_height(first), _height(box)) / 2:
                lines[-1].append(box)
                continue
        lines.append([box])
    return [_line_text(sorted(line)) for line in lines]


def _middle(box: TextBox) -> float:
    return (box.top + box.bottom) / 2


def _height(box: TextBox) -> float:
    return box.bottom - box.top


def _line_text(line: Sequence[TextBox]) -> str:
    height = median(map(_height, line))
    text, end = line[0].text, line[0].right
    for box in line[1:]:
        gap = box.left - end
        if gap > COLUMN_GAP * height:
            text += COLUMN
        elif abs(gap) > TOUCHING_GAP * height:
            text += " "
        text += box.text
        end = max(end, box.right)
    return text
