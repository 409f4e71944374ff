"""A run folder's trials by sample and repeat: their order, and which are wanted."""

from __future__ import annotations

from collections.abc import Callable

Wanted = Callable[[int, int], bool]
"""Whether the trial of a sample's place and a repeat is one of the run's: a folder may hold more."""


def every_trial(_index: int, _repeat: int) -> bool:
    return True


def trial_key(index: int, repeat: int) -> int:
    """Sample and repeat as one number, in the order of the data set."""
    return index << 16 | repeat


class IndexSet:
    """A set of indices, in one byte for each index up to the largest."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, index: int) -> None:
        self._bytes.extend(bytes(max(0, index + 1 - len(self._bytes))))
        self._bytes[index] = 1

    def __contains__(self, index: int) -> bool:
        return index < len(self._bytes) and self._bytes[index] == 1

    def __len__(self) -> int:
        return sum(self._bytes)
