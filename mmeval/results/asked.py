"""Which trials of a run folder stand behind the numbers of a results file: a folder may hold more."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Any


def counted_by(asked: Mapping[str, Any] | None) -> Callable[[int, int], bool]:
    """Whether a trial, by its sample's place and its repeat, stands behind the numbers, by what a results file says was
    asked of its task."""
    if asked is None:
        return _everything
    repeats, samples = asked["repeats"], asked["samples"]
    if samples is None:
        return lambda _, repeat: repeat < repeats
    starts = [first for first, _ in samples]

    def is_counted(index: int, repeat: int) -> bool:
        at = bisect_right(starts, index) - 1
        return repeat < repeats and at >= 0 and index <= samples[at][1]

    return is_counted


def _everything(_index: int, _repeat: int) -> bool:
    return True
