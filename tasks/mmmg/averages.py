"""The averages of MMMG, from the values of its tasks: what stands in the rows of the paper's tables becomes what stands
in its averages.

A task has a value for each of the four times that it is answered. The paper's interval of a category averages each of
these over its tasks first, and then asks how much the averages differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from mmeval.aggregate import Spread, spread

Passes = Sequence[float]
"""The mean of a task over its rows, for each time that it was answered."""
Absent = Literal["left out", "zero"]
"""What a task counts that a model cannot do: nothing, as in the paper, or 0, as on the leaderboard."""


def average(values: Mapping[str, float], tasks: Sequence[str], *, absent: Absent = "left out") -> float | None:
    """The unweighted mean of some tasks by their values; ``absent`` is what those without one count. None where there
    is nothing to count."""
    known = [values[task] for task in tasks if task in values]
    count = len(tasks) if absent == "zero" else len(known)
    return math.fsum(known) / count if count else None


def interval(passes: Mapping[str, Passes], tasks: Sequence[str]) -> Spread | None:
    """The mean of those of the tasks that have passes, with the authors' standard error; None where they were answered
    a different number of times, or none was."""
    known = [passes[task] for task in tasks if task in passes]
    if len({len(one) for one in known}) != 1 or not known[0]:
        return None
    return spread([math.fsum(values) / len(known) for values in zip(*known, strict=True)])
