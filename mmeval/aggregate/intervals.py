"""The 95 % interval of a number, from its range and the influences of its clusters.

If the range is finite, a value is treated as a share of the range, and the interval is
computed as for a share of right answers with the same standard error. If the range is
not finite, the interval is Student's, and it is wider for skewed values.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from mmeval.aggregate.leverage import satterthwaite
from mmeval.aggregate.quantiles import beta_quantile, normal_share, student_quantile
from mmeval.aggregate.scores import Scores, sums_by_cluster
from mmeval.aggregate.statistics import Interval, Uncertainty
from mmeval.aggregate.terms import Component, components, term_of_sums
from mmeval.records.evidence import Term

TAIL = 0.025
"""The probability beyond each end of a 95 % interval."""
FEWEST_WITHOUT_RANGE = 8
"""Effective clusters below which a value without a finite range has no interval."""
FEWEST_WITHOUT_SHAPE = 100
"""The minimum number of effective clusters if only the standard error is known. It is
higher because the skewness of the values, and with it the error of Student's interval,
is unknown."""

FEWEST_FOR_A_MEDIAN = 5
"""With fewer clusters, all of them are above or all below the median in more than 10 %
of cases."""

ONE_CLUSTER = "one cluster"
TOO_FEW = "fewer than two effective clusters"
FEW_WITHOUT_RANGE = "too few clusters for a metric without a finite range"
ALIKE_WITHOUT_RANGE = "all clusters are alike, and the metric has no finite range"

_EXACT = 1e-9
_MANY = 1e5
"""The normal distribution replaces the binomial if a count's variance is above this."""


def uncertainty_of_terms(
    value: float, terms: Sequence[Term], tail: float = TAIL
) -> Uncertainty:
    """Returns the standard error and the interval of a weighted sum of means."""
    # The value follows from a rule: a task that the model does not support counts as 0.
    if not terms:
        return Uncertainty(0.0, (value, value))
    if not all(term.is_known for term in terms):
        return Uncertainty(no_interval=ONE_CLUSTER)
    return uncertainty_of_components(value, components(terms), tail)


def uncertainty_of_components(
    value: float, independent: Sequence[Component], tail: float = TAIL
) -> Uncertainty:
    """Computes the standard error and the interval of a sum of components.

    The components are independent of each other.

    ``tail`` is the probability beyond each end of the interval.
    """
    variance = math.fsum(component.variance for component in independent)
    stderr = math.sqrt(variance)
    # rounding errors of a sum are not a variance
    if math.isclose(stderr, 0.0, abs_tol=1e-12 * max(1.0, abs(value))):
        stderr = 0.0
    effective = _effective(independent)
    known = Uncertainty(stderr, effective_clusters=effective)
    if effective < 2 - _EXACT:
        return known._replace(no_interval=TOO_FEW)
    if _share(independent) is not None:
        return known._replace(ci95=_within_range(value, stderr, independent, tail))
    return _without_range(value, known, independent, tail)


def same_value_interval(
    value: float,
    clusters: float,
    range: Interval,
) -> Interval:
    """Returns the 95 % interval of a mean if all clusters have the same value.

    An example is a task with only right answers. The standard error is 0, but further
    clusters may have other values. With 95 % confidence the share of the observed value
    among all values is at least ``s``, where ``s ** clusters = 0.05``. The other values
    are within the finite ``range``. For shares of right answers this is the one-sided
    interval of Clopper and Pearson.
    """
    # The same as 1 - scipy.special.betaincinv(clusters, 1, 0.05).
    other_share = 1 - 0.05 ** (1 / clusters)
    low, high = min(range[0], value), max(range[1], value)
    return (value - other_share * (value - low), value + other_share * (high - value))


def share_interval(
    share: float, trials: float, degrees: float, tail: float = TAIL
) -> Interval:
    """Returns the interval of Korn and Graubard for a share.

    ``trials`` is the effective number of trials.

    This is the interval of Clopper and Pearson, but if there are fewer ``degrees`` of
    freedom than trials, the number of trials is reduced first. Source: Korn and
    Graubard, Confidence Intervals for Proportions with Small Expected Number of
    Positive Counts Estimated from Survey Data, 1998.
    """
    quantile = student_quantile(degrees, 1 - tail)
    if trials - 1 > degrees * (1 + _EXACT):
        trials *= (student_quantile(trials - 1, 1 - tail) / quantile) ** 2
    if trials * share * (1 - share) > _MANY:
        half = quantile * math.sqrt(share * (1 - share) / trials)
        return (share - half, share + half)
    reached = share * trials
    rest = trials - reached
    low = beta_quantile(reached, rest + 1, tail) if reached > _EXACT else 0.0
    high = beta_quantile(reached + 1, rest, 1 - tail) if rest > _EXACT else 1.0
    return (low, high)


def median_share(scores: Scores, median: float) -> Interval | None:
    """Returns the interval of the share of values below the median.

    By definition, this share is one half.

    The result is None if there are too few clusters to have some on both sides.
    """
    below = array("d", [value <= median for value in scores.values])
    ones = array("d", [1]) * len(below)
    term = term_of_sums(sums_by_cluster(scores.clusters, below, ones), (0.0, 1.0))
    if term is None or not term.is_known:
        return None
    (component,) = components([term])
    if component.effective < FEWEST_FOR_A_MEDIAN - _EXACT:
        return None
    trials = _effective_trials(term.value, 1.0, [component])
    return share_interval(0.5, min(trials, len(below)), component.freedom)


def bounds_tail(gap: float, stderr: float) -> float:
    """Returns the tail probability for the intervals of a number's two bounds.

    With this probability, the two intervals together contain the number in 95 % of all
    cases, wherever the number is between the bounds. The result is 2.5 % if the two
    bounds are the same, and 5 % if they are far apart, because the number cannot be
    missed on both sides. Source: Imbens and Manski, Confidence Intervals for Partially
    Identified Parameters, 2004.
    """
    if not stderr:
        return 2 * TAIL if gap else TAIL
    low, high = 1.6, 2.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        coverage = normal_share(middle + gap / stderr) - normal_share(-middle)
        if coverage < 1 - 2 * TAIL:
            low = middle
        else:
            high = middle
    return normal_share(-high)


def _effective(independent: Sequence[Component]) -> float:
    """Returns how many equal clusters would contain the information of all
    components."""
    whole = math.fsum(component.share for component in independent)
    squares = []
    for component in independent:
        squares.append((component.share / whole) ** 2 / component.effective)
    return 1 / math.fsum(squares)


def _clusters_behind_error(independent: Sequence[Component]) -> float:
    """Returns the number of effective clusters that the error is estimated from.

    The error of a single mean over that number of clusters would be equally uncertain.

    The error of a group depends on its smallest members. If a group has tasks with
    hundreds of samples and one task with two samples, this task contributes most of the
    variance. So the variance is estimated from only two clusters. The values of all
    components are assumed to vary equally. Then the variance of a component is its
    share squared, divided by its effective clusters. The rest is Satterthwaite's
    formula.
    """
    variances = []
    spread = []
    for component in independent:
        variance = component.share**2 / component.effective
        variances.append(variance)
        spread.append(variance**2 / max(component.effective - 1, _EXACT))
    return 1 + math.fsum(variances) ** 2 / math.fsum(spread)


def _degrees(independent: Sequence[Component]) -> float:
    variances = [component.variance for component in independent]
    return satterthwaite(variances, [component.freedom for component in independent])


def _range(independent: Sequence[Component]) -> Interval:
    lows = [component.range[0] for component in independent]
    highs = [component.range[1] for component in independent]
    return (math.fsum(lows), math.fsum(highs))


def _share(independent: Sequence[Component]) -> float | None:
    """Returns the number as a share of its finite range. Returns None if it is out of
    range."""
    for component in independent:
        if _share_of_range(component.value, component.range) is None:
            return None
    value = math.fsum(component.value for component in independent)
    return _share_of_range(value, _range(independent))


def _share_of_range(value: float, range: Interval) -> float | None:
    low, high = range
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        return None
    share = (value - low) / (high - low)
    if not -_EXACT <= share <= 1 + _EXACT:
        return None  # a value on another scale than the range
    return min(max(share, 0.0), 1.0)


def _within_range(
    value: float, stderr: float, independent: Sequence[Component], tail: float
) -> Interval:
    share = _share(independent) or 0.0
    low, high = _range(independent)
    sum_of_values = math.fsum(component.value for component in independent)
    by_rule = value - sum_of_values  # the part of the value that is not estimated
    is_at_an_end = not _EXACT < share < 1 - _EXACT
    if not stderr and (is_at_an_end or len(independent) == 1):
        return same_value_interval(
            value, _effective(independent), (low + by_rule, high + by_rule)
        )
    trials = _effective_trials(share, high - low, independent)
    ends = share_interval(share, trials, _degrees(independent), tail)
    lowest = max(low, low + ends[0] * (high - low))
    highest = min(high, low + ends[1] * (high - low))
    return (min(value, lowest + by_rule), max(value, highest + by_rule))


def _effective_trials(
    share: float, width: float, independent: Sequence[Component]
) -> float:
    """Returns the number of right or wrong answers with the same standard error.

    If few clusters of a component are off an end of the range, its variance may be
    small by chance. The variance is therefore raised to at least the variance of right
    and wrong answers, computed with one more right and one more wrong answer than
    observed. If this applies to all components, the number of answers is at most the
    number of clusters.
    """
    variance = 0.0
    has_few = []
    for component in independent:
        few = component.has_few or not component.variance
        least = 0.0
        if few:
            clusters = component.effective
            reached = _share_of_range(component.value, component.range) or 0.0
            reached = (clusters * reached + 1) / (clusters + 2)
            low, high = component.range
            least = (high - low) ** 2 * reached * (1 - reached) / (clusters + 1)
        variance += max(component.variance, least)
        has_few.append(few)
    spread = share * (1 - share) * width**2
    if not all(has_few):
        return 1 + spread / variance
    variance = math.fsum(component.variance for component in independent)
    effective = _effective(independent)
    return min(1 + spread / variance, effective) if variance else effective


def _without_range(
    value: float, known: Uncertainty, independent: Sequence[Component], tail: float
) -> Uncertainty:
    stderr = known.stderr
    has_shape = all(component.influences is not None for component in independent)
    fewest = FEWEST_WITHOUT_RANGE if has_shape else FEWEST_WITHOUT_SHAPE
    if _clusters_behind_error(independent) < fewest - _EXACT:
        return known._replace(no_interval=FEW_WITHOUT_RANGE)
    if not stderr:
        return known._replace(no_interval=ALIKE_WITHOUT_RANGE)
    quantile = student_quantile(_degrees(independent), 1 - tail)
    low, high = value - quantile * stderr, value + quantile * stderr
    if has_shape:
        cubes: list[float] = []
        for component in independent:
            cubes += [influence**3 for influence in component.influences or ()]
        skewness = math.fsum(cubes) / stderr**3
        low = min(low, value - stderr * _unskewed(quantile, skewness))
        high = max(high, value - stderr * _unskewed(-quantile, skewness))
    least, most = _range(independent)
    if least <= value <= most:  # one end may be finite
        low, high = max(low, least), min(high, most)
    return known._replace(ci95=(low, high))


def _unskewed(quantile: float, skewness: float) -> float:
    """Returns the quantile of Student's ratio for skewed values.

    It is computed with the cubic transformation that makes the ratio symmetric. Source:
    Hall, On the Removal of Skewness by Transformation, 1992.
    """
    if abs(skewness) < 1e-8:
        return quantile
    third = skewness / 3
    cube = 1 + 3 * third * (quantile - skewness / 6)
    root = math.copysign(abs(cube) ** (1 / 3), cube)
    return (root - 1) / third
