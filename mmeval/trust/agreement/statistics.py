"""Statistics of agreement between two columns of equal length.

Each function returns None where the statistic is undefined, for example the correlation
with a column that has only one value. None is not 0: nothing is known then.
"""

from __future__ import annotations

import numpy as np

from mmeval.aggregate.resampling import Values

FEWEST_FOR_CORRELATION = 3


def accuracy(first: Values, second: Values) -> float | None:
    """Returns the share of trials with exactly equal values."""
    if len(first) == 0:
        return None
    return float((first == second).mean())


def kappa(first: Values, second: Values) -> float | None:
    """Returns Cohen's kappa. It is 1 for full agreement and 0 for that of chance."""
    if _is_one_value(first, second):
        return None
    values = np.unique(np.concatenate((first, second)))
    shares_of_chance = _shares(first, values) * _shares(second, values)
    observed = float((first != second).mean())
    return 1 - observed / (1 - float(shares_of_chance.sum()))


def kappa_linear(first: Values, second: Values) -> float | None:
    """Returns kappa weighted by the distance of the values.

    The distance is that of the values, not of their places among the values that occur.
    An unused level changes nothing.
    """
    if _is_one_value(first, second):
        return None
    # The mean distance of two independent values is an integral over both distribution
    # functions. Between two neighbouring values both functions are constant.
    values = np.unique(np.concatenate((first, second)))
    first_below = np.cumsum(_shares(first, values))[:-1]
    second_below = np.cumsum(_shares(second, values))[:-1]
    apart = first_below * (1 - second_below) + second_below * (1 - first_below)
    by_chance = float(np.diff(values) @ apart)
    observed = float(np.abs(first - second).mean())
    return 1 - observed / by_chance


def kappa_quadratic(first: Values, second: Values) -> float | None:
    """Returns kappa weighted by the squared distance of the values."""
    if _is_one_value(first, second):
        return None
    shift = float(first.mean() - second.mean())
    by_chance = float(first.var() + second.var()) + shift**2
    observed = float(np.square(first - second).mean())
    return 1 - observed / by_chance


def pearson(first: Values, second: Values) -> float | None:
    """Returns Pearson's correlation, from -1 to 1."""
    if not has_correlation(first, second):
        return None
    first_apart = first - first.mean()
    second_apart = second - second.mean()
    # scaled first, so that squares of tiny or huge numbers stay within range
    first_apart /= np.abs(first_apart).max()
    second_apart /= np.abs(second_apart).max()
    both = first_apart @ second_apart
    length = np.sqrt((first_apart @ first_apart) * (second_apart @ second_apart))
    return float(np.clip(both / length, -1, 1))


def spearman(first: Values, second: Values) -> float | None:
    """Returns Pearson's correlation of the ranks, where equal values share a rank."""
    if not has_correlation(first, second):
        return None
    return pearson(mid_ranks(first), mid_ranks(second))


def mid_ranks(values: Values) -> Values:
    """Returns the rank of each value, from 1. Equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: Values = last - (counts - 1) / 2
    return middle[place]


def has_correlation(first: Values, second: Values) -> bool:
    """Returns True if there are enough values, and two unequal ones in each column."""
    if len(first) < FEWEST_FOR_CORRELATION:
        return False
    return not (_is_constant(first) or _is_constant(second))


def _is_constant(values: Values) -> bool:
    return bool(values.min() == values.max())


def _is_one_value(first: Values, second: Values) -> bool:
    """Returns True if nothing differs, so that there is no disagreement by chance."""
    if len(first) == 0:
        return True
    is_constant = _is_constant(first) and _is_constant(second)
    return is_constant and bool(first[0] == second[0])


def _shares(column: Values, values: Values) -> Values:
    """Returns the share of each of the sorted values in a column."""
    places = np.searchsorted(values, column)
    return np.bincount(places, minlength=len(values)) / len(column)
