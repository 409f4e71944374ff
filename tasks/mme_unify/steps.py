"""Averages the right steps over all mazes of MME-Unify."""

from __future__ import annotations

from typing import Literal

from mmeval.aggregate import Estimate, Scores, mean, weighted_mean


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
