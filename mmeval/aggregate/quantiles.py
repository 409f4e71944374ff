"""Quantiles of the beta distribution and of Student's t.

``scipy.special`` computes both, but importing it takes a third of the time of a small
run.
"""

from __future__ import annotations

import math
from functools import cache

_MOST_STEPS = 1100
_MOST_TERMS = 100_000
_PRECISION = 2e-15
_LAST_STEP = 1e-6
"""The steps converge cubically. After a step of this relative size, only the rounding
error is left."""
_TINY = 1e-300
"""Replaces 0 in a denominator of the continued fraction."""
_ROOT_OF_2_PI = math.sqrt(2 * math.pi)
_MANY_DEGREES = 400
"""With at least this number of degrees of freedom, four terms of a series are enough to
compute Student's quantile to 12 digits."""


def beta_quantile(
    a: float,
    b: float,
    probability: float,
) -> float:
    """Returns the quantile of a beta distribution at this ``probability``.

    ``a`` and ``b`` are above 0. The search uses Halley's method. If a step would leave
    the interval that contains the solution, it bisects the interval instead.
    """
    low = 0.0
    high = 1.0
    value = _first_guess(a, b, probability)
    for _ in range(_MOST_STEPS):
        excess = beta_share(a, b, value) - probability
        if excess > 0:
            high = value
        else:
            low = value
        next_value = _halleys_step(a, b, value, excess)
        step = abs(next_value - value)
        nearer_end = min(value, 1 - value)
        if step <= _LAST_STEP * nearer_end:
            return next_value
        if not low < next_value < high:
            next_value = (low + high) / 2
            if next_value in (low, high):  # no float lies between them
                return next_value
        value = next_value
    return value


def _halleys_step(
    a: float,
    b: float,
    value: float,
    excess: float,
) -> float:
    density = math.exp(_log_density(a, b, value))
    if not density:
        return math.inf
    newtons_step = excess / density
    slope_of_log = (a - 1) / value - (b - 1) / (1 - value)
    bend = min(1.0, newtons_step * slope_of_log)
    return value - newtons_step / (1 - bend / 2)


def _first_guess(
    a: float,
    b: float,
    probability: float,
) -> float:
    """Returns a value near the quantile.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.5.22.
    """
    if a <= 1 or b <= 1:
        return a / (a + b)
    quantile = -normal_quantile(probability)
    curve = (quantile * quantile - 3) / 6
    of_a = 1 / (2 * a - 1)
    of_b = 1 / (2 * b - 1)
    mean = 2 / (of_a + of_b)
    if mean + curve <= 0:
        return a / (a + b)

    exponent = quantile * math.sqrt(mean + curve) / mean
    shift = curve + 5 / 6 - 2 / (3 * mean)
    exponent -= (of_b - of_a) * shift
    odds = math.exp(2 * exponent)
    guess = a / (a + b * odds)
    return guess if 0 < guess < 1 else a / (a + b)


def beta_share(
    a: float,
    b: float,
    value: float,
) -> float:
    """Returns the probability that a beta variable is below ``value``, from 0 to 1.

    This is the regularised incomplete beta function.
    """
    if value <= 0 or value >= 1:
        return float(value >= 1)
    density = math.exp(_log_density(a, b, value))
    front = density * value * (1 - value)
    # the fraction converges fast below the mean, and the other tail is above it
    if value < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, value) / a
    return 1 - front * _fraction(b, a, 1 - value) / b


def _log_density(
    a: float,
    b: float,
    value: float,
) -> float:
    constant = math.lgamma(a + b)
    constant -= math.lgamma(a)
    constant -= math.lgamma(b)
    below = (a - 1) * math.log(value)
    above = (b - 1) * math.log1p(-value)
    return constant + below + above


def _fraction(
    a: float,
    b: float,
    value: float,
) -> float:
    """Returns the continued fraction of the incomplete beta function.

    It is computed by Lentz's method. Source: Abramowitz and Stegun, Handbook of
    Mathematical Functions, 26.5.8.
    """
    whole = a + b
    numerator = 1.0
    first = 1 - whole * value / (a + 1)
    denominator = 1 / (first or _TINY)
    fraction = denominator
    for term in range(1, _MOST_TERMS):
        place = a + 2 * term
        even = term * (b - term) * value
        even /= (place - 1) * place
        denominator = 1 / ((1 + even * denominator) or _TINY)
        numerator = (1 + even / numerator) or _TINY
        fraction *= numerator * denominator
        odd = -(a + term) * (whole + term) * value
        odd /= place * (place + 1)
        denominator = 1 / ((1 + odd * denominator) or _TINY)
        numerator = (1 + odd / numerator) or _TINY
        factor = numerator * denominator
        fraction *= factor
        if -_PRECISION <= factor - 1 <= _PRECISION:
            break
    return fraction


@cache
def student_quantile(freedom: float, probability: float) -> float:
    """Returns the quantile of Student's t at a ``probability`` above one half.

    ``freedom`` is the degrees of freedom, a real number above 0.
    """
    if freedom >= _MANY_DEGREES:
        return _student_series(freedom, normal_quantile(probability))
    both_tails = 2 * (1 - probability)
    share = beta_quantile(freedom / 2, 0.5, both_tails)
    return math.sqrt(freedom * (1 - share) / share)


def _student_series(freedom: float, normal: float) -> float:
    """Computes Student's quantile from the ``normal`` quantile, if ``freedom`` is
    large.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    square = normal * normal
    terms = (
        _polynomial(square, 1, 1) / 4,
        _polynomial(square, 5, 16, 3) / 96,
        _polynomial(square, 3, 19, 17, -15) / 384,
        _polynomial(square, 79, 776, 1482, -1920, -945) / 92160,
    )
    factor = 1.0
    for power, term in enumerate(terms, start=1):
        factor += term / freedom**power
    return normal * factor


def _polynomial(variable: float, *coefficients: int) -> float:
    """Returns the value of a polynomial.

    The coefficient of the highest power is first.
    """
    value = 0.0
    for coefficient in coefficients:
        value = value * variable + coefficient
    return value


@cache
def normal_quantile(probability: float) -> float:
    """Returns the quantile of the normal distribution at this ``probability``."""
    low, high = -40.0, 40.0
    value = 0.0
    for _ in range(_MOST_STEPS):
        excess = normal_share(value) - probability
        if excess > 0:
            high = value
        else:
            low = value
        density = math.exp(-value * value / 2) / _ROOT_OF_2_PI
        next_value = high + 1
        if density:
            next_value = value - excess / density
        if not low < next_value < high:
            next_value = (low + high) / 2
        if abs(next_value - value) <= _PRECISION:
            return next_value
        value = next_value
    return value


def normal_share(value: float) -> float:
    """Returns the probability that a normal variable is below ``value``."""
    return math.erfc(-value / math.sqrt(2)) / 2
