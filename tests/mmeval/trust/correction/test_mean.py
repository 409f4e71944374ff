import numpy as np
import pytest

from mmeval.trust.correction.mean import Mean, clustered_mean


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
