import numpy as np
import pytest
from scipy import stats

from mmeval.trust.correction.mean import Mean, clustered_mean, p_of_zero

MANY = np.arange(40)


def test_single_trials_have_the_usual_error() -> None:
    values = np.array([0.0, 1.0, 1.0, 0.5])
    mean = clustered_mean(values, np.arange(4))
    usual = values.std(ddof=1) / 2
    assert mean.stderr == pytest.approx(usual)


def test_one_cluster_says_nothing_of_others() -> None:
    values = np.array([0.0, 1.0])
    one_cluster = np.zeros(2, dtype=np.intp)
    mean = clustered_mean(values, one_cluster)
    assert mean == Mean(0.5, stderr=None, ci95=None)


def test_equal_values_in_a_range_have_a_one_sided_interval() -> None:
    mean = clustered_mean(
        np.ones(20),
        np.arange(20),
        (0.0, 1.0),
    )
    assert mean.ci95 == pytest.approx((0.05 ** (1 / 20), 1.0))


def test_equal_values_without_a_range_have_no_interval() -> None:
    assert clustered_mean(np.ones(20), np.arange(20)).ci95 is None


def test_many_clusters_have_the_p_of_student() -> None:
    values = np.random.default_rng(0).standard_normal(40) + 0.3
    expected = stats.ttest_1samp(values, 0).pvalue
    assert p_of_zero(values, MANY) == pytest.approx(expected)


def test_few_clusters_have_the_p_of_sign_flips() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    # of all 64 flips, only two are as extreme
    assert p_of_zero(values, np.arange(6)) == pytest.approx(2 / 64)


def test_equal_values_have_the_p_of_clusters_in_one_direction() -> None:
    assert p_of_zero(np.full(40, 0.5), MANY) == 2.0**-39


def test_values_that_are_all_zero_have_p_one() -> None:
    assert p_of_zero(np.zeros(40), MANY) == 1


def test_one_cluster_has_no_p() -> None:
    assert p_of_zero(np.array([1.0, 2.0]), np.zeros(2, dtype=np.intp)) is None
