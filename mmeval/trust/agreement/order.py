"""Statistics of order: do two columns put the trials of a pair in the same order?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mmeval.aggregate.resampling import Values
from mmeval.trust.agreement.statistics import has_correlation
from mmeval.trust.correction.rated_trials import Places

_PAIRS_AT_ONCE = 1 << 22
_Counts = NDArray[np.int64]
"""The numbers of ``_PairCounts`` are on the last axis."""


class _PairCounts(NamedTuple):
    """Numbers of pairs. ``net`` is the number in the same order, less the number in the
    opposite order. A pair may be tied in the first column, the second, or both."""

    pairs: int
    net: int
    tied_first: int
    tied_second: int
    tied_both: int


def kendall(first: Values, second: Values) -> float | None:
    """Returns Kendall's tau-b."""
    if not has_correlation(first, second):
        return None
    return _kendall_of(_counts(first, second))


def pairwise_accuracy(first: Values, second: Values) -> float | None:
    """Returns the share of pairs of trials in the same order, or tied in both columns.

    It needs two trials.
    """
    return _pairwise_accuracy_of(_counts(first, second))


def kendall_without(
    first: Values, second: Values, groups: Sequence[Places]
) -> list[float | None]:
    """Returns Kendall's tau-b without each group of trials."""
    values: list[float | None] = []
    for group, counts in zip(
        groups, _counts_without(first, second, groups), strict=True
    ):
        others_first = np.delete(first, group)
        others_second = np.delete(second, group)
        is_defined = has_correlation(others_first, others_second)
        values.append(_kendall_of(counts) if is_defined else None)
    return values


def pairwise_accuracy_without(
    first: Values, second: Values, groups: Sequence[Places]
) -> list[float | None]:
    """Returns the pairwise accuracy without each group of trials."""
    without = _counts_without(first, second, groups)
    return [_pairwise_accuracy_of(counts) for counts in without]


def _kendall_of(counts: _Counts) -> float:
    numbers = _PairCounts(*counts.tolist())
    ordered_first = numbers.pairs - numbers.tied_first
    ordered_second = numbers.pairs - numbers.tied_second
    return numbers.net / math.sqrt(ordered_first * ordered_second)


def _pairwise_accuracy_of(counts: _Counts) -> float | None:
    numbers = _PairCounts(*counts.tolist())
    if numbers.pairs == 0:
        return None
    tied = numbers.tied_first + numbers.tied_second - numbers.tied_both
    same_order = (numbers.pairs - tied + numbers.net) / 2
    return (same_order + numbers.tied_both) / numbers.pairs


def _counts_without(
    first: Values, second: Values, groups: Sequence[Places]
) -> list[_Counts]:
    """Returns the counts without each group.

    All pairs are looked at once, not once for each group: the pairs of a group are
    those of its trials. Pairs inside the group are in two of its trials.
    """
    of_trials = _counts_of_trials(first, second)
    whole = of_trials.sum(axis=0) // 2
    without = []
    for group in groups:
        inside = _counts(first[group], second[group])
        without.append(whole - of_trials[group].sum(axis=0) + inside)
    return without


def _counts(first: Values, second: Values) -> _Counts:
    whole: _Counts = _counts_of_trials(first, second).sum(axis=0) // 2
    return whole


def _counts_of_trials(first: Values, second: Values) -> _Counts:
    """Returns the counts over the pairs of each trial with the others."""
    count = len(first)
    rows = np.zeros((count, len(_PairCounts._fields)), dtype=np.int64)
    if count == 0:
        return rows
    first_place = np.unique(first, return_inverse=True)[1]
    second_place = np.unique(second, return_inverse=True)[1]
    both_place = first_place * (int(second_place.max()) + 1) + second_place
    rows[:, 0] = count - 1
    rows[:, 1] = _net_of_trials(first_place, second_place, both_place)
    for column, place in enumerate((first_place, second_place, both_place), start=2):
        _, equal, sizes = np.unique(place, return_inverse=True, return_counts=True)
        rows[:, column] = sizes[equal] - 1
    return rows


def _net_of_trials(
    first_place: Places, second_place: Places, both_place: Places
) -> _Counts:
    # trials with the same two values have the same number, and grades have few values
    _, members, cell_of, sizes = np.unique(
        both_place, return_index=True, return_inverse=True, return_counts=True
    )
    first, second = first_place[members], second_place[members]
    cells = len(members)
    net = np.zeros(cells, dtype=np.int64)
    at_once = max(1, _PAIRS_AT_ONCE // cells)
    for start in range(0, cells, at_once):
        part = slice(start, start + at_once)
        first_order = np.sign(first[part, None] - first)
        second_order = np.sign(second[part, None] - second)
        net[part] = (first_order * second_order) @ sizes
    return net[cell_of]
