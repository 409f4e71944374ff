import numpy as np
import pytest
from scipy.stats import ttest_rel

from mmeval.comparison.paired.difference_test import (
    CombinedTest,
    DifferenceTest,
    interval_of,
    two_sided,
)
from mmeval.comparison.paired.student import Student, WithoutSkewness, skewness


def test_it_is_the_paired_t_of_scipy() -> None:
    a, b = np.random.default_rng(0).normal(size=(2, 40))
    expected = ttest_rel(b, a)
    error = float((b - a).std(ddof=1)) / 40**0.5
    evidence = Student(float((b - a).mean()), error, 39)
    interval = expected.confidence_interval(0.95)
    assert two_sided(evidence) == pytest.approx(float(expected.pvalue), abs=1e-12)
    assert interval_of(evidence, evidence.difference, np.inf, 0.05) == pytest.approx(
        (float(interval.low), float(interval.high)), abs=1e-12
    )


def test_without_skewness_nothing_is_transformed() -> None:
    plain, other = Student(0.3, 0.1, 20), WithoutSkewness(0.3, 0.1, 20, 0.0)
    for limit in (-0.2, 0.0, 0.3, 0.5):
        for above in (True, False):
            expected = plain.one_sided_p(limit, above=above)
            assert other.one_sided_p(limit, above=above) == pytest.approx(expected)


def test_an_interval_reaches_further_to_the_side_of_the_long_tail() -> None:
    found = interval_of(WithoutSkewness(0.3, 0.1, 1e6, 0.4), 0.3, np.inf, 0.05)
    assert found is not None
    assert found[1] - 0.3 > 1.96 * 0.1 > 0.3 - found[0]


def test_the_hull_of_two_tests_holds_both_intervals() -> None:
    members = (Student(0.3, 0.1, 30), WithoutSkewness(0.3, 0.1, 30, 0.4))
    ends = [interval_of(one, 0.3, np.inf, 0.05) for one in members]
    found = interval_of(CombinedTest(members), 0.3, np.inf, 0.05)
    assert ends[0] is not None
    assert ends[1] is not None
    assert found == pytest.approx((ends[0][0], ends[1][1]))


def test_skew_values_miss_their_mean_on_both_sides_alike() -> None:
    """The mean of 40 exponential values is 1."""
    random = np.random.default_rng(0)
    too_high = [0, 0]
    for _ in range(2_000):
        values = random.exponential(size=40)
        mean, apart = float(values.mean()), (values - values.mean()) / 40
        error = float(values.std(ddof=1)) / 40**0.5
        tests: tuple[DifferenceTest, ...] = (
            Student(mean, error, 39),
            WithoutSkewness(mean, error, 39, skewness(apart)),
        )
        for place, test in enumerate(tests):
            too_high[place] += test.one_sided_p(1.0, above=True) < 0.025
    assert too_high[0] / 2_000 > 0.045
    assert too_high[1] / 2_000 < 0.04


def test_skewness_is_that_of_the_sum() -> None:
    values = np.array([1.0, 0.0, 0.0, 0.0]) - 0.25
    assert skewness(values) == pytest.approx(
        (values**3).sum() / (values**2).sum() ** 1.5
    )
    assert skewness(np.zeros(4)) == 0.0
