"""Computes the averages in MMMG's tables from the values of the tasks.

Each task is run in four passes (repeats), and each pass yields a value. For a
category's interval, the paper averages each pass over the tasks, and then computes the
spread of these averages.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from mmeval.aggregate import Spread, spread

Passes = Sequence[float]
"""The mean of a task over its rows, for each pass."""
Absent = Literal["left out", "zero"]
"""How an average treats a task that a model does not support: the task is left out as
in the paper, or has the value 0 as on the leaderboard."""


def average(
    values: Mapping[str, float], tasks: Sequence[str], *, absent: Absent = "left out"
) -> float | None:
    """Computes the unweighted mean of tasks, or None if there is nothing to average.

    ``absent`` sets how tasks without a value are treated.
    """
    known = [values[task] for task in tasks if task in values]
    count = len(tasks) if absent == "zero" else len(known)
    return math.fsum(known) / count if count else None


def interval(passes: Mapping[str, Passes], tasks: Sequence[str]) -> Spread | None:
    """Computes the mean of the tasks with passes, and the authors' standard error.

    The result is None if the tasks have different numbers of passes, or no passes.
    """
    known = [passes[task] for task in tasks if task in passes]
    counts = {len(values) for values in known}
    if len(counts) != 1 or counts == {0}:
        return None
    means = []
    for values in zip(*known, strict=True):
        means.append(math.fsum(values) / len(known))
    return spread(means)
