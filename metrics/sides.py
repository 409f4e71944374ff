"""The sides that most metrics compare: a trial's answer and a sample's references."""

from __future__ import annotations

from typing import NamedTuple

from mmeval.media import Interleaved
from mmeval.records import Score, Trial


class Sides(NamedTuple):
    """Both sides of a comparison. ``references`` has at least one entry."""

    answer: Interleaved
    references: tuple[Interleaved, ...]


def sides_of(trial: Trial) -> Sides | Score:
    """Returns both sides, or an unscored score that names the missing side."""
    if trial.output is None:
        return Score.unscored("there is no answer to score")
    if not trial.sample.references:
        return Score.unscored("the sample has no reference to compare with")
    return Sides(trial.output, trial.sample.references)
