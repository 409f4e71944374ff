import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from mmeval.comparison.correlation.statistics import (
    CONSTANT,
    METHODS,
    TOO_FEW,
    Method,
    Points,
    correlation,
    difference,
)

X = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
Y = (2.0, 1.0, 4.0, 3.0, 7.0, 5.0, 6.0)
TIED = (1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0)


def test_pearson_of_hand_computed_values() -> None:
    # deviations (-1, 0, 1) and (-1, 2, -1) have no common direction
    assert correlation("pearson", Points((1, 2, 3), (0, 3, 0))).value == 0


def test_spearman_is_computed_from_squared_differences_of_ranks() -> None:
    squares = sum((x - y) ** 2 for x, y in zip(X, Y, strict=True))
    expected = 1 - 6 * squares / (7 * 48)
    assert correlation("spearman", Points(X, Y)).value == pytest.approx(expected)


def test_kendall_counts_pairs_in_order_minus_pairs_out_of_order() -> None:
    # of 21 pairs, (2, 1), (4, 3), (7, 5) and (7, 6) are out of order
    assert correlation("kendall", Points(X, Y)).value == pytest.approx((17 - 4) / 21)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("y", [Y, TIED], ids=["distinct", "tied"])
def test_coefficients_agree_with_scipy(method: Method, y: tuple[float, ...]) -> None:
    test = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }[method]
    expected = test(X[::-1], y).statistic
    value = correlation(method, Points(X[::-1], y)).value
    assert value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("method", "variance"),
    [("pearson", 1 / 4), ("spearman", (1 + 0.5**2 / 2) / 4), ("kendall", 0.437 / 3)],
)
def test_the_interval_of_independent_points_is_symmetric_in_fishers_z(
    method: Method, variance: float
) -> None:
    # seven points whose coefficient is one half are made by a monotone change of r
    found = correlation(method, Points(X, Y))
    assert found.value is not None
    assert found.ci95 is not None
    if method == "spearman":
        variance = (1 + found.value**2 / 2) / 4
    half = 1.959964 * math.sqrt(variance)
    low, high = (math.atanh(end) for end in found.ci95)
    assert (high - low) / 2 == pytest.approx(half, rel=1e-6)
    assert (high + low) / 2 == pytest.approx(math.atanh(found.value))


@pytest.mark.parametrize("method", ["spearman", "kendall"])
@pytest.mark.parametrize("y", [Y[:6], TIED[:6]], ids=["distinct", "tied"])
def test_the_p_value_of_ranks_is_the_share_of_permutations_as_far_from_0(
    method: Method, y: tuple[float, ...]
) -> None:
    observed = correlation(method, Points(X[:6], y)).value
    assert observed is not None
    test = stats.spearmanr if method == "spearman" else stats.kendalltau
    as_far = 0
    for order in permutations(y):
        as_far += abs(test(X[:6], order).statistic) >= abs(observed) - 1e-9
    p = correlation(method, Points(X[:6], y)).p
    assert p == pytest.approx(as_far / math.factorial(6))


def test_the_p_value_of_pearson_is_that_of_student() -> None:
    p = correlation("pearson", Points(X, Y)).p
    assert p == pytest.approx(stats.pearsonr(X, Y).pvalue)


@pytest.mark.parametrize("method", METHODS)
def test_a_constant_series_has_no_correlation(method: Method) -> None:
    found = correlation(method, Points(X, (2.0,) * 7))
    assert (found.value, found.ci95, found.p) == (None, None, None)
    assert found.why == CONSTANT


@pytest.mark.parametrize("method", METHODS)
def test_three_points_have_no_interval(method: Method) -> None:
    found = correlation(method, Points(X[:3], Y[:3]))
    assert found.value is not None
    assert (found.ci95, found.why) == (None, TOO_FEW)


@pytest.mark.parametrize("method", METHODS)
def test_one_point_has_no_correlation(method: Method) -> None:
    found = correlation(method, Points((1.0,), (2.0,)))
    assert (found.value, found.why) == (None, TOO_FEW)


def test_points_that_all_agree_have_no_interval() -> None:
    found = correlation("pearson", Points(X, X))
    assert found.value == pytest.approx(1)
    assert found.ci95 is None


def noisy(count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    random = np.random.default_rng(5)
    x = random.normal(size=count)
    y = x + random.normal(size=count)
    return tuple(x.tolist()), tuple(y.tolist())


def test_repeats_of_a_sample_are_one_cluster() -> None:
    x, y = noisy(30)
    clusters = tuple(map(str, range(30)))
    once = correlation("pearson", Points(x, y, clusters))
    twice = correlation("pearson", Points(x * 2, y * 2, clusters * 2))
    assert (twice.n, twice.clusters) == (60, 30)
    assert twice.ci95 == pytest.approx(once.ci95)
    assert once.p is None


def test_three_clusters_have_no_interval() -> None:
    found = correlation("pearson", Points(X, Y, tuple("aabbccc")))
    assert (found.ci95, found.why) == (None, TOO_FEW)


def test_a_difference_of_equal_series_is_0_in_each_draw() -> None:
    found = difference("pearson", Points(X, Y), Points(X, Y))
    assert found is not None
    assert (found.value, found.ci95) == (0, (0, 0))


def test_the_difference_is_the_first_correlation_minus_the_second() -> None:
    x, y = noisy(60)
    better = Points(y, y)
    found = difference("spearman", better, Points(x, y))
    first, second = (
        correlation("spearman", better),
        correlation("spearman", Points(x, y)),
    )
    assert found is not None
    assert found.ci95 is not None
    assert first.value is not None
    assert second.value is not None
    assert found.value == pytest.approx(first.value - second.value)
    assert 0 < found.ci95[0] < found.value < found.ci95[1]


def test_a_difference_from_a_constant_series_is_not_defined() -> None:
    assert difference("pearson", Points(X, Y), Points((1.0,) * 7, Y)) is None
