"""Where the records of a trial are in a run folder."""

from __future__ import annotations


def trial_key(index: int, repeat: int) -> int:
    """Sample and repeat as one number, in the order of the data set."""
    return index << 16 | repeat
