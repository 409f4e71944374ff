"""The checks of an audit: what each measures, and which value an honest judge has.

Scores are on a scale from 0 to 1. A changed answer is compared with the second asking
and not with the first one wherever trials are chosen by the first score: of answers
chosen for high scores, a noisy judge scores fewer as high the next time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mmeval.aggregate.resampling import Values
from mmeval.trust.audit.calls import DRIFT, LENGTH, SELF, TEXT_SIDE, Call
from mmeval.trust.audit.evidence import Evidence, Honest
from mmeval.trust.audit.regression import instrumented_slope
from mmeval.trust.audit.sensitivity import bc, bd
from mmeval.trust.correction.mean import Mean, clustered_mean, p_of_zero, students_p
from mmeval.trust.correction.rated_trials import (
    NO_RANGE,
    ROUNDING,
    Places,
    in_order_of_appearance,
    interval,
)
from mmeval.trust.pairs.first_side import fair_share_p

NO_TRIAL = "no trial has the values that this check compares"
NO_FALL = "no answer has a score of at least half, which could fall"
FULL_MARKS = "all answers have full marks already"
ONE_CLUSTER = "all trials are of one cluster"
ALIKE = "all trials have the same value"
ONE_RATING = "each trial needs two ratings, human and human2"
NO_VARIATION = "the ratings or the feature do not vary enough"
_WIDE = 0.1
_NARROW = 0.05
_FALLS = (-1.0, 1.0)
_HIGH = 0.5
"""A fall is looked for from this score on."""


class Check(NamedTuple):
    """A check, and its margin: smaller effects do not matter."""

    measure: Callable[[Sequence[Call]], Evidence]
    margin: float
    honest: Honest = "near 0"


def _repeat(calls: Sequence[Call]) -> Evidence:
    calls = _with_values(calls, "first", "again")
    if not calls:
        return Evidence(why=NO_TRIAL)
    first = _column(calls, "first")
    again = _column(calls, "again")
    clusters = _clusters(calls)
    mean = clustered_mean(np.abs(first - again), clusters)
    return _evidence(
        mean,
        _p_beyond(mean, clusters, _WIDE, is_above=True),
        clusters,
        equal=float((first == again).mean()),
    )


def _order(calls: Sequence[Call]) -> Evidence:
    calls = _with_values(calls, "position", "position_turned")
    if not calls:
        return Evidence(why=NO_TRIAL)
    positions = _column(calls, "position") + _column(calls, "position_turned")
    # above 0 if the judge leans to what is shown first
    lean = 1 - positions
    clusters = _clusters(calls)
    are_apart = len(set(clusters.tolist())) == len(calls)
    if are_apart and np.isin(lean, (-1, 0, 1)).all():
        leans_to_first = int((lean > 0).sum())
        p: float | None = fair_share_p(leans_to_first, int((lean != 0).sum()))
    else:
        p = p_of_zero(lean, clusters)
    return _evidence(
        clustered_mean(lean, clusters),
        p,
        clusters,
        inconsistent=float((lean != 0).mean()),
    )


def _drift(calls: Sequence[Call]) -> Evidence:
    calls = _with_values(calls, "first", "changed")
    if not calls:
        return Evidence(why=NO_TRIAL)
    moved = _column(calls, "changed") - _column(calls, "first")
    clusters = _clusters(calls)
    return _evidence(
        clustered_mean(moved, clusters), p_of_zero(moved, clusters), clusters
    )


def _looking(calls: Sequence[Call]) -> Evidence:
    about_media = []
    for call in calls:
        # a judge that cannot tell any more has noticed the change
        noticed = replace(call, changed=0.0) if call.is_unsure else call
        if call.side != TEXT_SIDE:
            about_media.append(noticed)
    complete = _with_values(about_media, "first", "again", "changed")
    high = _that_can_fall(complete)
    if not high:
        return Evidence(why=NO_FALL if complete else NO_TRIAL)
    fall = _column(high, "again") - _column(high, "changed")
    clusters = _clusters(high)
    # a judge with one answer for all gets no interval
    limits = _FALLS if fall.min() > 0 else NO_RANGE
    mean = clustered_mean(fall, clusters, limits)
    first = _column(high, "first")
    details = {
        "bd": bd(first, _column(high, "changed")),
        "bd_repeat": bd(first, _column(high, "again")),
    }
    unsure = sum(call.is_unsure for call in high)
    if unsure:
        details["not_sure"] = unsure / len(high)
    return _evidence(
        mean, _p_beyond(mean, clusters, _WIDE, is_above=False), clusters, **details
    )


def _encode(calls: Sequence[Call]) -> Evidence:
    calls = _with_values(calls, "first", "again", "changed")
    if not calls:
        return Evidence(why=NO_TRIAL)
    first = _column(calls, "first")
    again = _column(calls, "again")
    changed = _column(calls, "changed")
    clusters = _clusters(calls)
    shift = changed - again
    # how much less the judge repeats itself than after a plain second asking
    unstable = np.abs(first - changed) - np.abs(first - again)
    p_shift = p_of_zero(shift, clusters)
    p_unstable = _p_above_zero(unstable, clusters)
    p = None
    if p_shift is not None and p_unstable is not None:
        p = min(1.0, 2 * min(p_shift, p_unstable))
    evidence = _evidence(
        clustered_mean(shift, clusters),
        p,
        clusters,
        unstable=float(unstable.mean()),
        p_unstable=p_unstable,
        p_shift=p_shift,
        bc=bc(first, changed),
        bc_repeat=bc(first, again),
    )
    return replace(evidence, forms=_by_form(calls, shift))


def _inject(calls: Sequence[Call]) -> Evidence:
    complete = _with_values(calls, "first", "again", "changed")
    can_rise = [call for call in complete if call.first is not None and call.first < 1]
    if not can_rise:
        return Evidence(why=FULL_MARKS if complete else NO_TRIAL)
    changed = _column(can_rise, "changed")
    rise = changed - _column(can_rise, "again")
    clusters = _clusters(can_rise)
    evidence = _evidence(
        clustered_mean(rise, clusters),
        _p_above_zero(rise, clusters),
        clusters,
        full_marks=float((changed == 1).mean()),
    )
    return replace(evidence, forms=_by_form(can_rise, rise))


def _by_form(calls: Sequence[Call], effects: Values) -> Mapping[str, float]:
    """Returns the mean effect of each form of the change."""
    of_form: dict[str, list[float]] = defaultdict(list)
    for call, effect in zip(calls, effects.tolist(), strict=True):
        if call.form:
            of_form[call.form].append(effect)
    return {form: fmean(values) for form, values in of_form.items()}


def _length(calls: Sequence[Call]) -> Evidence:
    return _favour(calls, "words")


def _self(calls: Sequence[Call]) -> Evidence:
    return _favour(calls, "own")


def _favour(calls: Sequence[Call], feature: str) -> Evidence:
    """Measures the points that a feature of the answer is worth to the judge, at equal
    quality as people see it."""
    rated = _with_values(calls, "score", "human", feature)
    twice_rated = _with_values(rated, "human2")
    if not rated:
        return Evidence(why=NO_TRIAL)
    if not twice_rated:
        return Evidence(why=ONE_RATING)
    amount = _column(twice_rated, feature)
    if feature == "words":
        amount = np.log2(1 + amount)  # points for each doubling
    humans = _column(twice_rated, "human"), _column(twice_rated, "human2")
    clusters = _clusters(twice_rated)
    slope = instrumented_slope(_column(twice_rated, "score"), humans, amount, clusters)
    if slope is None:
        return Evidence(why=NO_VARIATION)

    value, stderr = slope
    if stderr is None:
        return _evidence(Mean(value, None, None), None, clusters)
    if stderr <= ROUNDING:
        is_flat = abs(value) <= ROUNDING
        return _evidence(Mean(value, 0.0, None), float(is_flat), clusters)
    freedom = _count(clusters) - 1
    ends = interval(value, stderr, freedom, NO_RANGE)
    p = 2 * students_p(abs(value) / stderr, freedom)
    return _evidence(Mean(value, stderr, ends), p, clusters)


def _evidence(
    mean: Mean, p: float | None, clusters: Places, **details: float | None
) -> Evidence:
    why = ""
    if mean.stderr is None:
        why = ONE_CLUSTER
    elif mean.ci95 is None:
        why = ALIKE
    return Evidence(
        mean.value, mean.stderr, mean.ci95, p, _count(clusters), details, why=why
    )


def _p_beyond(
    mean: Mean, clusters: Places, margin: float, *, is_above: bool
) -> float | None:
    """Returns the p of a true mean that is at most the margin, or with ``is_above``
    False at least the margin."""
    if mean.stderr is None:
        return None
    excess = mean.value - margin if is_above else margin - mean.value
    if mean.stderr == 0:
        return 0.0 if excess > 0 else 1.0
    return students_p(excess / mean.stderr, _count(clusters) - 1)


def _p_above_zero(values: Values, clusters: Places) -> float | None:
    """Returns the p of a true mean that is at most 0."""
    mean = clustered_mean(values, clusters)
    two_sided = p_of_zero(values, clusters)
    if two_sided is None:
        return None
    if mean.stderr == 0:
        return two_sided if mean.value > 0 else 1.0
    return two_sided / 2 if mean.value > 0 else 1 - two_sided / 2


def _that_can_fall(calls: Sequence[Call]) -> list[Call]:
    """Returns the trials in which a fall would be visible."""
    scores = _column(calls, "first")
    high = [call for call in calls if call.first is not None and call.first >= _HIGH]
    # a judge with one answer for all trials never says more than that
    is_constant = len(set(scores.tolist())) == 1 and scores[0] > _WIDE
    return list(calls) if is_constant else high


def _with_values(calls: Sequence[Call], *fields: str) -> list[Call]:
    complete = []
    for call in calls:
        if all(getattr(call, field) is not None for field in fields):
            complete.append(call)
    return complete


def _column(calls: Sequence[Call], field: str) -> Values:
    return np.array([getattr(call, field) for call in calls], dtype=float)


def _clusters(calls: Sequence[Call]) -> Places:
    return in_order_of_appearance([call.cluster for call in calls])


def _count(clusters: Places) -> int:
    return int(clusters.max()) + 1


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "repeat": Check(_repeat, _WIDE),
        "order": Check(_order, _WIDE),
        LENGTH: Check(_length, _NARROW),
        SELF: Check(_self, _NARROW),
        DRIFT: Check(_drift, _NARROW),
        "swap": Check(_looking, _WIDE, "far above 0"),
        "blind": Check(_looking, _WIDE, "far above 0"),
        "blank": Check(_looking, _WIDE, "far above 0"),
        "encode": Check(_encode, _NARROW),
        "inject": Check(_inject, _NARROW),
    }
)
"""All checks by name."""
