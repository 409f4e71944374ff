"""Computes half of the authors' 95 % interval of a category's average, over passes.

Each task is run in four passes (repeats). The paper averages each pass over the tasks
that the model can do, and then computes the spread of these averages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mmeval.aggregate import Scores, repeat_means, spread
from mmeval.results import NumberKey, TableNumber, scores_of
from mmeval.tasks.mmmg.categories import CATEGORIES

if TYPE_CHECKING:
    from mmeval.results import StoredRun

NUMBER = "overall"
"""The name of the number that every task of MMMG computes."""
FILE = "file"
"""The label with the instruction file, for tasks with several files."""


def half_widths(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the half width of each category whose tasks have equally many passes."""
    stored = {task.name: task for task in run.tasks}
    for category in CATEGORIES:
        passes = []
        for name in category.tasks:
            if name in stored:
                scores = scores_of(run, stored[name], NUMBER)
                passes.append(passes_of(scores))
        known = [means for means in passes if means]
        if len({len(means) for means in known}) != 1:
            continue
        averages = _averages(known)
        key = NumberKey(category.name, NUMBER, kind="half_width")
        yield TableNumber(key, spread(averages).half_width)


def passes_of(scores: Scores) -> Sequence[float]:
    """Returns the mean of each pass, with equal weight per instruction file.

    The result is empty if a pass has no score for one of the files.
    """
    files = []
    for part in scores.by_level(FILE).values():
        if part.values:
            files.append(repeat_means(part))
    if not files:
        return repeat_means(scores)
    if len({len(means) for means in files}) > 1:
        return ()
    return _averages(files)


def _averages(passes: Sequence[Sequence[float]]) -> list[float]:
    """Returns the average of each pass over its tasks or files."""
    averages = []
    for means in zip(*passes, strict=True):
        averages.append(math.fsum(means) / len(means))
    return averages
