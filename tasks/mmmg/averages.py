"""The averages in MMMG's tables, from the values of its tasks.

A task has a value for each of the four passes. The paper's interval of a category
averages each pass over its tasks first, and then measures how much these averages
differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from mmeval.aggregate import Spread, spread

Passes = Sequence[float]
"""The mean of a task over its rows, for each pass."""
Absent = Literal["left out", "zero"]
"""How a task that a model cannot do is counted: left out as in the paper, or 0 as on
the leaderboard."""


def average(
    values: Mapping[str, float], tasks: Sequence[str], *, absent: Absent = "left out"
) -> float | None:
    """The unweighted mean of tasks; ``absent``: how those without a value count.
    None if none counts."""
    known = [values[task] for task in tasks if task in values]
    count = len(tasks) if absent == "zero" else len(known)
    return math.fsum(known) / count if count else None


def interval(passes: Mapping[str, Passes], tasks: Sequence[str]) -> Spread | None:
    """The mean of the tasks with passes, with the authors' standard error.
    None where their numbers of passes differ, or none has any."""
    known = [passes[task] for task in tasks if task in passes]
    counts = {len(values) for values in known}
    if len(counts) != 1 or counts == {0}:
        return None
    means = []
    for values in zip(*known, strict=True):
        means.append(math.fsum(values) / len(known))
    return spread(means)
