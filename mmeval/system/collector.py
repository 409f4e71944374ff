"""Python's cycle collector, told what a run is like: many small objects that come and go, few that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (25_000, 20, 50)
"""With Python's own, the collector walks through everything eight hundred times in ten thousand samples: a quarter of
the run's CPU, to find nothing."""


def settle() -> None:
    """Leave what is there alone (the imported program, loaded tasks) and look through what is new less often.

    Nothing is collected before: to look for the little that is garbage already takes as long as a hundred samples.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


@contextmanager
def settled() -> Iterator[None]:
    """:func:`settle` for a block; afterwards all is as before, for whoever runs tasks inside a larger program."""
    before = gc.get_threshold()
    settle()
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
