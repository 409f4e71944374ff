"""Combines the ratings of a trial into one human value.

Only first passes count. A trial shown again (pass 2) tells how much a rater agrees with
themselves, and nothing else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Literal, TypeAlias, get_args

from mmeval.errors import UsageError, did_you_mean
from mmeval.trust.records import Rating, TrialName, Value

HumanValue = Literal["mean", "median", "majority"]
HUMAN_VALUES: tuple[HumanValue, ...] = get_args(HumanValue)
Given: TypeAlias = float | str
"""A rating that is not "cannot say"."""


def kept_ratings(ratings: Iterable[Rating]) -> list[Rating]:
    """Returns the ratings without those that a later line replaces.

    The first line of a place keeps its position, so that the order of trials is the
    order in which they were first rated.
    """
    newest: dict[tuple[str, str, str, str, int], Rating] = {}
    for rating in ratings:
        newest[rating.place] = rating
    return list(newest.values())


def first_passes(ratings: Iterable[Rating]) -> dict[TrialName, list[Rating]]:
    """Returns the counted ratings of each trial, in the order of the first ones.

    The ratings are those that no later line replaces. Left out are second passes, and
    ratings of raters who cannot say.
    """
    by_trial: dict[TrialName, list[Rating]] = {}
    for rating in ratings:
        if rating.pass_number == 1 and rating.value is not None:
            by_trial.setdefault((rating.run, rating.trial), []).append(rating)
    return by_trial


def usual_human_value(ratings: Iterable[Rating]) -> HumanValue:
    """Returns ``mean`` if every rating is a number, else ``majority``."""
    for rating in ratings:
        if isinstance(rating.value, str):
            return "majority"
    return "mean"


def named_human_value(name: str) -> HumanValue | None:
    """Returns the way to combine raters by its name, or None for an empty name.

    Raises UsageError for an unknown name.
    """
    if not name:
        return None
    for how in HUMAN_VALUES:
        if how == name:
            return how
    known = ", ".join(HUMAN_VALUES)
    raise UsageError(
        f"--human must be one of {known}, not {name!r}"
        f"{did_you_mean(name, HUMAN_VALUES)}"
    )


def human_value(values: Sequence[Given], how: HumanValue) -> Value:
    """Returns the human value of one trial from its raters' values, at least one.

    A majority is the most frequent value. It is None if two values are equally
    frequent. Raises UsageError for the mean or the median of words.
    """
    if how == "majority":
        return _majority(values)
    numbers = []
    for value in values:
        if isinstance(value, str):
            raise UsageError(
                f"a {how} needs numbers, but a rating is {value!r}; use the majority"
            )
        numbers.append(value)
    combine: Mapping[str, Callable[[Sequence[float]], float]] = {
        "mean": _mean,
        "median": median,
    }
    return combine[how](numbers)


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _majority(values: Sequence[Given]) -> Value:
    (first, most), *others = Counter(values).most_common(2)
    is_tied = bool(others) and others[0][1] == most
    return None if is_tied else first
