"""Aggregates the scores of a task into one number with its standard error."""

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
    from mmeval.aggregate.scores import ClusterSums, Estimate, ScoreRow, Scores
    from mmeval.aggregate.statistics import known_mean
    from mmeval.aggregate.summary import combine, summarise
    from mmeval.aggregate.terms import term_of_residuals
    from mmeval.records.evidence import Term

__all__ = [
    "ClusterSums",
    "Estimate",
    "ScoreRow",
    "Scores",
    "Spread",
    "Term",
    "combine",
    "known_mean",
    "macro_mean",
    "mean",
    "median",
    "repeat_means",
    "repeats",
    "spread",
    "summarise",
    "term_of_residuals",
    "weighted_mean",
]

__getattr__, __dir__ = door(__name__)
