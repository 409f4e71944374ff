"""Agreement of people among themselves, with themselves, and with known answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, get_args

import numpy as np

from mmeval.trust.agreement.alpha import Level, alpha, alpha_units
from mmeval.trust.agreement.columns import paired_columns
from mmeval.trust.agreement.compared_trials import ComparedTrial
from mmeval.trust.agreement.jackknife import AgreementStatistic, statistic_of_mean
from mmeval.trust.agreement.measure import OF_WORDS, PLAIN
from mmeval.trust.agreement.statistics import kappa_quadratic
from mmeval.trust.correction.mean import clustered_mean
from mmeval.trust.correction.rated_trials import in_order_of_appearance
from mmeval.trust.human_values import Given, HumanValue, human_value
from mmeval.trust.records import Rating, Value

FEWEST_SELF_PAIRS = 10
"""With fewer pairs, self-agreement is printed with a remark."""
LEVELS: tuple[Level, ...] = get_args(Level)

_FEWEST_OF_RATER = 3
_NO_TWO_RATERS = "no trial has two raters"
_Two = tuple[Given, Given]


@dataclass(frozen=True)
class SelfAgreement:
    """Agreement of a rater's first pass with the second one, over all raters."""

    pairs: int
    agreement: float | None
    mean_absolute_error: float | None
    kappa_quadratic: float | None


@dataclass(frozen=True)
class RaterAgreement:
    """Agreement of people over the trials with at least two raters.

    ``ceiling`` is the mean agreement of a rater with the others, and ``same_footing``
    that of the metric with the same others. Only these two are comparable: the metric's
    plain agreement is with a less noisy value, that of all raters.
    """

    raters: int
    trials: int
    agreement: AgreementStatistic
    alphas: Mapping[Level, AgreementStatistic]
    ceiling: Mapping[str, float | None]
    same_footing: Mapping[str, float | None]
    self: SelfAgreement | None

    def to_json(self) -> dict[str, Any]:
        """Returns the block ``raters``."""
        row: dict[str, Any] = {
            "raters": self.raters,
            "trials": self.trials,
            "agreement": self.agreement.to_json(),
        }
        for level, statistic in self.alphas.items():
            row[f"alpha_{level}"] = statistic.to_json()
        row["ceiling"] = dict(self.ceiling)
        row["same_footing"] = dict(self.same_footing)
        if self.self is not None:
            row["self"] = asdict(self.self)
        return row


@dataclass(frozen=True)
class GoldShare:
    """How many trials with a known answer a rater has answered right."""

    trials: int
    right: int

    @property
    def share(self) -> float:
        """The share of right answers."""
        return self.right / self.trials


def rater_agreement(
    trials: Iterable[ComparedTrial],
    ratings: Iterable[Rating],
    how: HumanValue,
) -> RaterAgreement:
    """Returns the agreement of people. ``ratings`` are those of all passes."""
    shared = [trial for trial in trials if len(trial.ratings) > 1]
    names = {rater for trial in shared for rater in trial.ratings}
    is_word = any(
        isinstance(value, str) for trial in shared for value in trial.ratings.values()
    )
    return RaterAgreement(
        raters=len(names),
        trials=len(shared),
        agreement=_agreement(shared),
        alphas=_alphas(shared, is_word=is_word),
        ceiling=_left_out_means(shared, how, lambda trial, rater: trial.ratings[rater]),
        same_footing=_left_out_means(shared, how, lambda trial, _: trial.score),
        self=_self_agreement(ratings),
    )


def gold_shares(
    ratings: Iterable[Rating], gold: Mapping[str, Value]
) -> dict[str, GoldShare]:
    """Returns each rater's answers to trials with a known answer, by rater.

    ``gold`` has right answers by trial. A rating may also state its own. "Cannot say"
    is not right.
    """
    trials: dict[str, int] = {}
    right: dict[str, int] = {}
    for rating in ratings:
        answer = gold.get(rating.trial, rating.gold)
        if answer is None or rating.pass_number != 1:
            continue
        is_right = rating.value == answer
        trials[rating.rater] = trials.get(rating.rater, 0) + 1
        right[rating.rater] = right.get(rating.rater, 0) + is_right
    return {rater: GoldShare(trials[rater], right[rater]) for rater in sorted(trials)}


def _agreement(shared: Sequence[ComparedTrial]) -> AgreementStatistic:
    if not shared:
        return AgreementStatistic(None, why=_NO_TWO_RATERS)
    shares = []
    for trial in shared:
        pairs = list(combinations(trial.ratings.values(), 2))
        equal = sum(first == second for first, second in pairs)
        shares.append(equal / len(pairs))
    clusters = in_order_of_appearance([trial.cluster for trial in shared])
    return statistic_of_mean(clustered_mean(np.array(shares), clusters, (0.0, 1.0)))


def _alphas(
    shared: Sequence[ComparedTrial], *, is_word: bool
) -> dict[Level, AgreementStatistic]:
    number_of: dict[Given, float] = {}
    units = []
    for trial in shared:
        numbers = []
        for value in trial.ratings.values():
            number = number_of.setdefault(value, float(len(number_of)))
            if not (is_word or isinstance(value, str)):
                number = value
            numbers.append(number)
        units.append(numbers)
    clusters = in_order_of_appearance([trial.cluster for trial in shared])
    alphas: dict[Level, AgreementStatistic] = {}
    for level in LEVELS:
        if not shared:
            alphas[level] = AgreementStatistic(None, why=_NO_TWO_RATERS)
        elif is_word and level != "nominal":
            alphas[level] = AgreementStatistic(None, why="ratings are words")
        else:
            alphas[level] = alpha(alpha_units(units, clusters), level)
    return alphas


def _left_out_means(
    shared: Sequence[ComparedTrial],
    how: HumanValue,
    first_value: Callable[[ComparedTrial, str], Given | None],
) -> dict[str, float | None]:
    """Returns the mean over raters of the agreement with the other raters' value.

    ``first_value`` returns what agrees or not: the rater's value, or the metric's. A
    rater counts by the number of trials.
    """
    by_rater: dict[str, list[_Two]] = {}
    for trial in shared:
        for rater in trial.ratings:
            first = first_value(trial, rater)
            others = _value_of_others(trial, rater, how)
            if first is not None and others is not None:
                by_rater.setdefault(rater, []).append((first, others))

    sums: dict[str, float] = {}
    weights: dict[str, int] = {}
    for pairs in by_rater.values():
        if len(pairs) < _FEWEST_OF_RATER:
            continue
        for name, value in _plain_statistics(pairs).items():
            if value is not None:
                sums[name] = sums.get(name, 0.0) + len(pairs) * value
                weights[name] = weights.get(name, 0) + len(pairs)
    means: dict[str, float | None] = {}
    for name in PLAIN:
        means[name] = sums[name] / weights[name] if name in sums else None
    return means


def _value_of_others(trial: ComparedTrial, rater: str, how: HumanValue) -> Value:
    others = [value for name, value in trial.ratings.items() if name != rater]
    return human_value(others, how)


def _plain_statistics(pairs: Sequence[_Two]) -> dict[str, float | None]:
    firsts = [first for first, _ in pairs]
    seconds = [second for _, second in pairs]
    columns = paired_columns(firsts, seconds, [""] * len(pairs))
    values = {}
    for name, statistic in PLAIN.items():
        if columns.are_numbers or name in OF_WORDS:
            values[name] = statistic(columns.first, columns.second)
    return values


def _self_agreement(ratings: Iterable[Rating]) -> SelfAgreement | None:
    first: dict[tuple[str, str, str], Given] = {}
    second: dict[tuple[str, str, str], Given] = {}
    passes = {1: first, 2: second}
    for rating in ratings:
        if rating.value is not None and rating.pass_number in passes:
            place = (rating.run, rating.trial, rating.rater)
            passes[rating.pass_number][place] = rating.value
    twice = [place for place in second if place in first]
    if not twice:
        return None
    columns = paired_columns(
        [first[place] for place in twice],
        [second[place] for place in twice],
        [""] * len(twice),
    )
    agreement = float((columns.first == columns.second).mean())
    if not columns.are_numbers:
        return SelfAgreement(len(twice), agreement, None, None)
    errors = np.abs(columns.first - columns.second)
    return SelfAgreement(
        pairs=len(twice),
        agreement=agreement,
        mean_absolute_error=float(errors.mean()),
        kappa_quadratic=kappa_quadratic(columns.first, columns.second),
    )
