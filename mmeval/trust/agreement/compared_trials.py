"""Brings each trial's automatic score together with the ratings of its raters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mmeval.errors import UsageError, did_you_mean
from mmeval.system.wording import listed
from mmeval.trust.human_values import Given, HumanValue, human_value
from mmeval.trust.paired_trials import labels_of, ratings_of_runs
from mmeval.trust.records import Rating, ScoreRow, TrialName


@dataclass(frozen=True)
class ComparedTrial:
    """A trial with its score and the first passes of its raters, by rater.

    ``score`` is None if the trial has no score of the metric. ``ratings`` may be empty.
    """

    name: TrialName
    cluster: str
    labels: Mapping[str, str] = field(default_factory=dict)
    score: Given | None = None
    ratings: Mapping[str, Given] = field(default_factory=dict)


class BothValues(NamedTuple):
    """A trial with its score and its human value."""

    trial: ComparedTrial
    score: Given
    human: Given


@dataclass(frozen=True)
class ComparedValues:
    """The trials that have a score and a human value, and the number of left out
    trials by reason."""

    trials: tuple[BothValues, ...]
    left_out: Mapping[str, int]


def compared_trials(
    scores: Iterable[ScoreRow],
    ratings: Iterable[Rating],
    metric: str,
) -> list[ComparedTrial]:
    """Returns the rated trials in the order of the ratings, and then those that have
    only a score.

    ``ratings`` has no replaced ones. Without a metric there are no scores. Raises
    UsageError if no trial has the metric, and if it is unclear which run the ratings
    are about.
    """
    rows: dict[TrialName, ScoreRow] = {}
    for row in scores:
        if row.metric == metric:
            rows[row.run, row.trial] = row
    runs = list(dict.fromkeys(run for run, _ in rows))
    by_trial: dict[TrialName, list[Rating]] = {}
    for rating, run in _with_runs(ratings, runs):
        by_trial.setdefault((run, rating.trial), []).append(rating)

    trials = []
    for name in dict.fromkeys([*by_trial, *rows]):
        ratings_of_trial = by_trial.get(name, [])
        trials.append(_trial(name, rows.get(name), ratings_of_trial))
    return trials


def compared_values(trials: Iterable[ComparedTrial], how: HumanValue) -> ComparedValues:
    """Returns the trials that have both values."""
    both = []
    left_out = Counter(no_score=0, no_majority=0, no_rating=0)
    for trial in trials:
        if not trial.ratings:
            left_out["no_rating"] += trial.score is not None
            continue
        if trial.score is None:
            left_out["no_score"] += 1
            continue
        human = human_value(list(trial.ratings.values()), how)
        if human is None:
            left_out["no_majority"] += 1
        else:
            both.append(BothValues(trial, trial.score, human))
    return ComparedValues(tuple(both), dict(left_out))


def chosen_metric(scores: Iterable[ScoreRow], metric: str) -> str:
    """Returns the metric to compare: the chosen one, or the only one of the scores.

    Raises UsageError if the choice is open, or the metric is not in the scores.
    """
    known = list(dict.fromkeys(row.metric for row in scores))
    if not metric and len(known) == 1:
        return known[0]
    if metric in known:
        return metric
    there_are = "there are no scores"
    if known:
        there_are = f"the scores have {listed(known, 10)}"
    if not metric:
        raise UsageError(f"choose a metric with --metric; {there_are}", known=known)
    raise UsageError(
        f"no trial has a score of {metric!r}{did_you_mean(metric, known)}; {there_are}",
        name=metric,
        known=known,
    )


def _with_runs(
    ratings: Iterable[Rating], runs: Sequence[str]
) -> list[tuple[Rating, str]]:
    """Returns each rating with its run as the scores name it."""
    if not runs:
        return [(rating, rating.run) for rating in ratings]
    all_ratings = list(ratings)
    run_of: dict[int, str] = {}
    for run, of_run in ratings_of_runs(all_ratings, runs).items():
        for rating in of_run:
            run_of[id(rating)] = run
    return [(rating, run_of[id(rating)]) for rating in all_ratings]


def _trial(
    name: TrialName, row: ScoreRow | None, ratings: Sequence[Rating]
) -> ComparedTrial:
    of_raters: dict[str, Given] = {}
    for rating in ratings:
        if rating.pass_number == 1 and rating.value is not None:
            of_raters[rating.rater] = rating.value
    if row is None:
        return ComparedTrial(
            name, ratings[0].cluster_name, labels_of(None, ratings), None, of_raters
        )
    score = row.word or row.value
    return ComparedTrial(
        name, row.cluster_name, labels_of(row, ratings), score, of_raters
    )
