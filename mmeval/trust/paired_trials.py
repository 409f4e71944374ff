"""Brings each trial's automatic scores together with its human value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from mmeval.errors import UsageError, did_you_mean
from mmeval.system.wording import listed
from mmeval.trust.correction.rated_trials import Places, RatedTrials, numbered
from mmeval.trust.human_values import (
    Given,
    HumanValue,
    first_passes,
    human_value,
    kept_ratings,
    usual_human_value,
)
from mmeval.trust.records import Draw, Rating, ScoreRow

_MOST_NAMED = 3
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class HumanScore:
    """The human value of a trial, how the trial was drawn, and when it was first rated
    (None if no rating states the time)."""

    value: float
    draw: Draw
    at: datetime | None


@dataclass(frozen=True)
class PairedTrial:
    """A trial with the values of all proxies. ``human`` is None if it is not rated."""

    name: str
    cluster: str
    labels: Mapping[str, str]
    proxies: tuple[float, ...]
    human: HumanScore | None


@dataclass(frozen=True)
class PairedTrials:
    """The trials of a run, and how many rated trials were left out, by reason.

    ``order`` has the places of the rated trials in the order of the ratings file.
    """

    trials: tuple[PairedTrial, ...]
    order: tuple[int, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def rated(self) -> list[PairedTrial]:
        """The trials with a human value."""
        return [trial for trial in self.trials if trial.human is not None]

    def slice(self, label: str, value: str) -> PairedTrials:
        """Returns the trials whose label has this value."""
        new_places: dict[int, int] = {}
        kept: list[PairedTrial] = []
        for place, trial in enumerate(self.trials):
            if trial.labels.get(label) == value:
                new_places[place] = len(kept)
                kept.append(trial)
        order = [new_places[place] for place in self.order if place in new_places]
        return PairedTrials(tuple(kept), tuple(order))

    def values(self, label: str) -> list[str]:
        """Returns the values of a label, sorted."""
        values = set()
        for trial in self.trials:
            if label in trial.labels:
                values.add(trial.labels[label])
        return sorted(values)

    def in_time_order(self) -> list[int]:
        """Returns the places of the rated trials in the order of their first ratings.

        Ratings without a time come last. Ties keep the order of the file.
        """

        def moment(place: int) -> datetime:
            human = self.trials[place].human
            return _NEVER if human is None or human.at is None else human.at

        return sorted(self.order, key=moment)

    def arrays(self, strata: str, clusters: Sequence[str]) -> RatedTrials:
        """Returns the arrays for the estimators.

        ``strata`` is the label of the strata, or empty. ``clusters`` lists the names of
        all clusters, whose places become their numbers.
        """
        count = len(self.trials)
        human = np.full(count, math.nan)
        weights = np.ones(count)
        for place, trial in enumerate(self.trials):
            if trial.human is not None:
                human[place] = trial.human.value
                weights[place] = 1 / (trial.human.draw.probability or 1.0)
        return RatedTrials(
            proxies=np.array([trial.proxies for trial in self.trials], dtype=float),
            human=human,
            weights=weights,
            strata=self._strata(strata),
            clusters=numbered([trial.cluster for trial in self.trials], clusters),
        )

    def _strata(self, label: str) -> Places:
        if not label:
            return np.zeros(len(self.trials), dtype=np.intp)
        names = [trial.labels.get(label, "") for trial in self.trials]
        return numbered(names, sorted(set(names)))


def paired_trials(
    scores: Iterable[ScoreRow],
    ratings: Iterable[Rating],
    proxies: Sequence[str],
    how: HumanValue | None = None,
) -> PairedTrials:
    """Returns the trials of one run that have a value of every proxy.

    ``scores`` and ``ratings`` are rows of that run. ``how`` says how several raters
    become one value; None is the usual way. Raises UsageError if no trial has all
    proxies, and if human values are words.
    """
    rows: dict[str, dict[str, ScoreRow]] = {}
    known: dict[str, None] = {}
    for row in scores:
        rows.setdefault(row.trial, {})[row.metric] = row
        known[row.metric] = None
    for proxy in proxies:
        if proxy not in known:
            raise UsageError(
                f"no trial has a score of {proxy!r}{did_you_mean(proxy, known)}; "
                f"there are {listed(list(known), 10) or 'no scores'}",
                name=proxy,
                known=known,
            )

    left_out: Counter[str] = Counter()
    by_trial: dict[str, list[Rating]] = {}
    for (_, trial), of_trial in first_passes(kept_ratings(ratings)).items():
        # chosen to check the raters; the draw of the other trials is not less random
        if all(rating.is_check for rating in of_trial):
            left_out["gold"] += 1
        else:
            by_trial.setdefault(trial, []).extend(of_trial)
    human_scores = _human_scores(by_trial, how, left_out)

    trials: list[PairedTrial] = []
    places: dict[str, int] = {}
    for name, by_metric in rows.items():
        values = _values(by_metric, proxies)
        if values is None:
            continue
        places[name] = len(trials)
        row = by_metric[proxies[0]]
        human = human_scores.get(name)
        labels = labels_of(row, by_trial.get(name, ()))
        trials.append(PairedTrial(name, row.cluster_name, labels, values, human))
    if not trials:
        raise UsageError(f"no trial has values of {listed(list(proxies), 5)}")

    order = []
    for name in human_scores:
        if name in places:
            order.append(places[name])
        else:
            left_out["no_score"] += 1
    return PairedTrials(tuple(trials), tuple(order), dict(left_out))


def ratings_of_runs(
    ratings: Iterable[Rating],
    runs: Sequence[str],
) -> dict[str, list[Rating]]:
    """Returns the ratings by the run that they are about.

    If there is only one run, a rating need not name it. Raises UsageError if it is
    unclear which run the ratings are about.
    """
    all_ratings = list(ratings)
    rated_runs = {rating.run for rating in all_ratings} - {""}
    if runs == [""] and len(rated_runs) > 1:
        raise UsageError(
            f"the ratings are about {listed(sorted(rated_runs), _MOST_NAMED)}, but "
            "the scores name no run; add the column run to the scores"
        )
    if rated_runs and len(runs) > 1 and rated_runs.isdisjoint(runs):
        raise UsageError(
            f"the ratings are about {listed(sorted(rated_runs), _MOST_NAMED)}, but "
            f"there are scores of {listed(list(runs), _MOST_NAMED)}"
        )
    by_run: dict[str, list[Rating]] = {run: [] for run in runs}
    for rating in all_ratings:
        run = rating.run
        if len(runs) == 1 and "" in (run, runs[0]):
            run = runs[0]
        if not run and "" not in by_run:
            raise UsageError(
                f"the rating of trial {rating.trial!r} names no run, but there are "
                f"scores of {listed(list(runs), _MOST_NAMED)}; add the column run to "
                "the ratings"
            )
        by_run.setdefault(run, []).append(rating)
    return by_run


def ratings_of_question(
    ratings: Iterable[Rating], question: str | None
) -> list[Rating]:
    """Returns the ratings of one question, or of the only one if it is None.

    Answers to different questions have no common value. Raises UsageError if there are
    several questions, or if no rating answers this one.
    """
    all_ratings = list(ratings)
    questions = sorted({rating.question for rating in all_ratings})
    if question is None:
        if len(questions) > 1:
            raise UsageError(
                f"the ratings answer {len(questions):,} questions "
                f"({listed(questions, 3)}); choose one with --question"
            )
        return all_ratings
    if question not in questions:
        raise UsageError(
            f"no rating answers the question {question!r}"
            f"{did_you_mean(question, questions)}",
            name=question,
            known=questions,
        )
    return [rating for rating in all_ratings if rating.question == question]


def _values(
    by_metric: Mapping[str, ScoreRow], proxies: Sequence[str]
) -> tuple[float, ...] | None:
    values = []
    for proxy in proxies:
        row = by_metric.get(proxy)
        if row is None or row.value is None:
            return None
        values.append(row.value)
    return tuple(values)


def _human_scores(
    by_trial: Mapping[str, Sequence[Rating]],
    how: HumanValue | None,
    left_out: Counter[str],
) -> dict[str, HumanScore]:
    if how is None:
        counted: list[Rating] = []
        for of_trial in by_trial.values():
            counted += of_trial
        how = usual_human_value(counted)
    scores: dict[str, HumanScore] = {}
    for trial, of_trial in by_trial.items():
        value = human_value(_given(of_trial), how)
        if value is None:
            left_out["no_majority"] += 1
        elif isinstance(value, str):
            raise UsageError(
                f"the human value of trial {trial!r} is {value!r}, but a mean needs "
                "numbers; write words as numbers, such as 1 for yes and 0 for no"
            )
        else:
            scores[trial] = HumanScore(value, _draw(of_trial), _first_time(of_trial))
    return scores


def _given(ratings: Iterable[Rating]) -> list[Given]:
    return [rating.value for rating in ratings if rating.value is not None]


def _draw(ratings: Sequence[Rating]) -> Draw:
    """Returns the draw of a trial. If one of its ratings was not drawn at random, the
    trial was not."""
    for rating in ratings:
        if not rating.draw.is_random:
            return rating.draw
    return ratings[0].draw


def _first_time(ratings: Iterable[Rating]) -> datetime | None:
    times = [rating.at for rating in ratings if rating.at is not None]
    return min(times, default=None)


def labels_of(row: ScoreRow | None, ratings: Iterable[Rating]) -> dict[str, str]:
    """Returns the labels of a trial: those of its ratings, and over them those of its
    score, if it has one."""
    labels: dict[str, str] = {}
    for rating in ratings:
        labels = {**rating.labels, **labels}
        if rating.task:
            labels.setdefault("task", rating.task)
    if row is None:
        return labels
    labels.update(row.labels)
    if row.task:
        labels["task"] = row.task
    return labels


def clusters_of(*groups: PairedTrials) -> list[str]:
    """Returns the names of all clusters, in the order of their first trials."""
    names: dict[str, None] = {}
    for group in groups:
        for trial in group.trials:
            names[trial.cluster] = None
    return list(names)
