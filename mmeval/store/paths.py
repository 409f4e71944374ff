"""Trials of a run folder by sample and repeat: their order and their filter."""

from __future__ import annotations

from collections.abc import Callable

TrialFilter = Callable[[int, int], bool]
"""True if a trial belongs to the run, given its sample's index and its repeat. A folder
may hold more trials."""


def every_trial(_index: int, _repeat: int) -> bool:
    return True


def trial_key(index: int, repeat: int) -> int:
    """Sample index and repeat as one integer, in data set order."""
    return index << 16 | repeat  # 16 bits hold MAX_REPEATS
