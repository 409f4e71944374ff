"""The order of a run folder's trials, and the filter that selects trials."""

from __future__ import annotations

from collections.abc import Callable

TrialFilter = Callable[[int, int], bool]
"""Returns True if a trial belongs to the run, given its sample's index and its repeat.

A folder may contain further trials.
"""


def every_trial(_index: int, _repeat: int) -> bool:
    return True


def trial_key(index: int, repeat: int) -> int:
    """Combines sample index and repeat into an integer that sorts in data set order."""
    return index << 16 | repeat  # 16 bits hold MAX_REPEATS
