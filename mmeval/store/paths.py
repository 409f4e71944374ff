"""A run folder's trials by sample and repeat: their order, and which are wanted."""

from __future__ import annotations

from collections.abc import Callable

Wanted = Callable[[int, int], bool]
"""Whether the trial of a sample's place and a repeat is one of the run's: a folder may
hold more."""


def every_trial(_index: int, _repeat: int) -> bool:
    return True


def trial_key(index: int, repeat: int) -> int:
    """Sample and repeat as one number, in the order of the data set."""
    return index << 16 | repeat
