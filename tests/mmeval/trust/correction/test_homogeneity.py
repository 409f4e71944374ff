import numpy as np
import pytest
from scipy import stats

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.homogeneity import homogeneity

SHIFTS = np.random.default_rng(4).standard_normal((60, 3))


def test_with_two_runs_it_is_the_paired_t_test() -> None:
    test = homogeneity(SHIFTS[:, :2])
    assert test is not None
    expected = stats.ttest_rel(SHIFTS[:, 0], SHIFTS[:, 1])
    assert test.p == pytest.approx(expected.pvalue)
    assert test.f == pytest.approx(expected.statistic**2)


def test_the_order_of_runs_does_not_matter() -> None:
    one, other = homogeneity(SHIFTS), homogeneity(SHIFTS[:, [2, 0, 1]])
    assert one is not None
    assert other is not None
    assert one.f == pytest.approx(other.f)


def test_a_favoured_run_is_seen() -> None:
    test = homogeneity(SHIFTS + np.array([0.0, 0.0, 1.0]))
    assert test is not None
    assert test.p < 0.001


@pytest.mark.parametrize("shifts", [SHIFTS[:19], SHIFTS[:, :1], np.ones((60, 3))])
def test_too_little_to_compare_has_no_test(shifts: Values) -> None:
    assert homogeneity(shifts) is None
