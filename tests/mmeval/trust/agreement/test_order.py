import numpy as np
import pytest
from scipy import stats

from mmeval.trust.agreement.order import (
    kendall,
    kendall_without,
    pairwise_accuracy,
    pairwise_accuracy_without,
)

RANDOM = np.random.default_rng(0)
FIRST = RANDOM.integers(1, 6, 60).astype(float)
SECOND = np.clip(FIRST + RANDOM.integers(-1, 2, 60), 1, 5).astype(float)
GROUPS = np.array_split(np.arange(60), 7)


def test_kendall_is_that_of_scipy() -> None:
    expected = stats.kendalltau(FIRST, SECOND).statistic
    assert kendall(FIRST, SECOND) == pytest.approx(expected)


def test_a_pair_tied_in_both_columns_is_right() -> None:
    # of three pairs, one is tied in both, one is ordered alike, one is tied in one
    value = pairwise_accuracy(
        np.array([1.0, 1, 2]),
        np.array([3.0, 3, 3]),
    )
    assert value == pytest.approx(1 / 3)


def test_a_pair_in_the_opposite_order_is_wrong() -> None:
    assert pairwise_accuracy(np.array([1.0, 2]), np.array([2.0, 1])) == 0


def test_one_trial_has_no_pair() -> None:
    assert pairwise_accuracy(FIRST[:1], SECOND[:1]) is None


def test_no_trial_has_no_pair() -> None:
    assert pairwise_accuracy(FIRST[:0], SECOND[:0]) is None


def test_kendall_without_a_group_is_that_of_the_others() -> None:
    expected = []
    for group in GROUPS:
        expected.append(
            kendall(np.delete(FIRST, group), np.delete(SECOND, group)),
        )
    assert kendall_without(FIRST, SECOND, GROUPS) == pytest.approx(expected)


def test_pairwise_accuracy_without_a_group_is_that_of_the_others() -> None:
    expected = []
    for group in GROUPS:
        first, second = np.delete(FIRST, group), np.delete(SECOND, group)
        expected.append(pairwise_accuracy(first, second))
    assert pairwise_accuracy_without(FIRST, SECOND, GROUPS) == pytest.approx(expected)


def test_kendall_is_unknown_where_the_others_have_one_value() -> None:
    first = np.array([1.0, 2, 2, 2])
    assert kendall_without(first, first, [np.array([0])]) == [None]
