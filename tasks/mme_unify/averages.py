"""The scores of MME-Unify's tables, from those of its tasks, and the means over steps
of mazes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypedDict

from mmeval.aggregate import Estimate, Scores, mean, weighted_mean
from mmeval.errors import UnknownNameError

UNDERSTANDING = ("SIPU", "MITIU", "VPU")
GENERATION = ("CIVG", "FIR", "TIE", "TIG", "TVG", "VP")
UNIFY = ("IEE", "CSQ", "AL", "SD", "VCoT")
TASKS = (*UNDERSTANDING, *GENERATION, *UNIFY)
"""In the order of the paper's tables, and in its spelling."""


class Averages(TypedDict):
    """The scores of the three parts, and their mean."""

    understanding: float
    generation: float
    unify: float
    mme_u: float


def roll_up(scores: Mapping[str, float | None]) -> Averages:
    """The averages of the scores of tasks, in their unit; a task that is not there, or
    None, counts 0.

    The tasks of a part count the same, and so do the parts. Raises UnknownNameError for
    another name.

    >>> roll_up({"SIPU": 58.5, "MITIU": 43.53, "VPU": 36.02})["mme_u"]
    15.33888888888889
    """
    for name in scores:
        if name not in TASKS:
            raise UnknownNameError("task of MME-Unify", name, TASKS)
    means = []
    for part in (UNDERSTANDING, GENERATION, UNIFY):
        values = [scores.get(name) or 0.0 for name in part]
        means.append(math.fsum(values) / len(part))
    understanding, generation, unify = means
    return {
        "understanding": understanding,
        "generation": generation,
        "unify": unify,
        "mme_u": math.fsum(means) / 3,
    }


def steps(
    scores: Scores, *, profile: Literal["standard", "official"] = "standard"
) -> Estimate:
    """The share of right steps over all mazes, each of which weighs as many as it has.

    Official: over as many steps a maze as the longest one has, as the released script
    divides. The ceiling is lower then: 405 of 720 steps on the whole data.
    """
    if profile == "standard":
        return weighted_mean(scores)
    longest = max(scores.weights, default=1.0)
    padded = Scores(range=scores.range, higher_is_better=scores.higher_is_better)
    for row in scores:
        if row.value is not None:
            share = row.value * row.weight / longest
            padded.add_value(row.sample, row.repeat, share, cluster=row.cluster)
    return mean(padded)
