"""Aggregates the scores of a task to one number with its standard error."""

from typing import TYPE_CHECKING

from mmeval.doors import door

if TYPE_CHECKING:
    from mmeval.aggregate.aggregators import (
        Spread,
        macro_mean,
        mean,
        median,
        repeat_means,
        repeats,
        spread,
        weighted_mean,
    )
    from mmeval.aggregate.scores import Estimate, ScoreRow, Scores
    from mmeval.aggregate.statistics import known_mean, weighted_mean_stderr
    from mmeval.aggregate.summary import combine, summarise

__all__ = [
    "Estimate",
    "ScoreRow",
    "Scores",
    "Spread",
    "combine",
    "known_mean",
    "macro_mean",
    "mean",
    "median",
    "repeat_means",
    "repeats",
    "spread",
    "summarise",
    "weighted_mean",
    "weighted_mean_stderr",
]

__getattr__, __dir__ = door(__name__)
