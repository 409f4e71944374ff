"""Computes the averages in MME-Unify's tables, and means over the steps of mazes."""

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
"""All tasks, in the order and spelling of the paper's tables."""


class PartAverages(TypedDict):
    """The scores of the three parts, and their mean."""

    understanding: float
    generation: float
    unify: float
    mme_u: float


def roll_up(scores: Mapping[str, float | None]) -> PartAverages:
    """Averages the scores of tasks, in the unit of the scores.

    A missing score counts as 0. All tasks of a part have the same weight, and all parts
    have the same weight. Raises UnknownNameError for an unknown task.

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
    """Returns the share of right steps over all mazes.

    The weight of a maze is its number of steps. With the profile ``official``, every
    maze is counted with as many steps as the longest maze, as in the released script.
    The highest possible share is then lower: 405 of 720 steps on the complete data.
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
