"""Quantiles of the beta distribution and of Student's t.

``scipy.special`` has both, but importing it takes a third of the time of a small run.
"""

from __future__ import annotations

import math

_MOST_STEPS = 200
_MOST_TERMS = 100_000
_PRECISION = 1e-15
_TINY = 1e-300
"""In place of 0 in a denominator of the continued fraction."""


def beta_quantile(a: float, b: float, probability: float) -> float:
    """The value below which a beta variable lies with this ``probability``.

    ``a`` and ``b`` are above 0. Newton's steps, halved where they would leave the
    interval that holds the solution.
    """
    low, high = 0.0, 1.0
    value = a / (a + b)
    for _ in range(_MOST_STEPS):
        excess = beta_share(a, b, value) - probability
        if excess > 0:
            high = value
        else:
            low = value
        density = math.exp(_log_density(a, b, value))
        following = value - excess / density if density else -1.0
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - value) <= _PRECISION * value:
            return following
        value = following
    return value


def beta_share(a: float, b: float, value: float) -> float:
    """The probability that a beta variable is below ``value``, from 0 to 1: the
    regularised incomplete beta function."""
    if value <= 0 or value >= 1:
        return float(value >= 1)
    front = math.exp(_log_density(a, b, value)) * value * (1 - value)
    # the fraction converges fast below the mean, and the other tail is above it
    if value < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, value) / a
    return 1 - front * _fraction(b, a, 1 - value) / b


def _log_density(a: float, b: float, value: float) -> float:
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return constant + (a - 1) * math.log(value) + (b - 1) * math.log1p(-value)


def _fraction(a: float, b: float, value: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method.
    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.5.8."""
    numerator = 1.0
    denominator = 1 / _not_zero(1 - (a + b) * value / (a + 1))
    found = denominator
    for term in range(1, _MOST_TERMS):
        even = term * (b - term) * value / ((a + 2 * term - 1) * (a + 2 * term))
        odd = -(a + term) * (a + b + term) * value
        odd /= (a + 2 * term) * (a + 2 * term + 1)
        for coefficient in (even, odd):
            denominator = 1 / _not_zero(1 + coefficient * denominator)
            numerator = _not_zero(1 + coefficient / numerator)
            factor = numerator * denominator
            found *= factor
        if abs(factor - 1) <= _PRECISION:
            break
    return found


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def student_quantile(freedom: float, probability: float) -> float:
    """The value below which Student's t lies with this ``probability`` (above one
    half), with ``freedom`` degrees of freedom, a real number above 0."""
    share = beta_quantile(freedom / 2, 0.5, 2 * (1 - probability))
    return math.sqrt(freedom * (1 - share) / share)
