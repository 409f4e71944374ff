from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mmeval.metrics.three_d.spread import clamp, far_share, variation, weighted


def test_the_variation_is_one_less_e_to_minus_the_quartile_range_over_the_median() -> None:
    assert variation(np.array([1.0, 2.0, 3.0, 4.0, 5.0])) == pytest.approx(1 - math.exp(-2 / 3))
    assert variation(np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(1 - math.exp(-1.5 / 2.5))


@pytest.mark.parametrize("numbers", [[], [1, 9, 100], [2, 2, 2, 2], [math.nan, 1, math.inf, 7, 9], [0, 0, 0, 0]])
def test_of_too_few_or_equal_numbers_nothing_varies(numbers: list[float]) -> None:
    assert variation(np.array(numbers, float)) == 0


def test_where_the_median_is_zero_the_mean_size_stands_for_it() -> None:
    assert variation(np.array([-1.0, 0.0, 0.0, 1.0, 3.0])) == pytest.approx(1 - math.exp(-1))


def test_the_share_far_out_is_of_numbers_beyond_two_and_a_half_deviations() -> None:
    at_ten = np.array([0.0] * 9 + [1.0])  # 3 deviations from the mean
    at_seven = np.array([0.0] * 6 + [1.0])  # 2.449

    assert (far_share(at_ten), far_share(at_seven)) == (0.1, 0)
    assert (far_share(np.full(9, 0.1)), far_share(np.array([]))) == (0, 0)


@given(arrays(float, st.integers(0, 30), elements=st.floats(-1e6, 1e6)))
def test_both_are_shares_of_any_numbers(numbers: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    assert 0 <= variation(numbers) <= 1
    assert 0 <= far_share(numbers) <= 1


@given(arrays(float, st.integers(4, 30), elements=st.floats(0.1, 100)), st.floats(0.01, 100))
def test_neither_depends_on_the_unit(numbers: np.ndarray[tuple[int], np.dtype[np.float64]], unit: float) -> None:
    assert variation(numbers * unit) == pytest.approx(variation(numbers), abs=1e-9)


def test_a_value_is_clamped_to_its_range() -> None:
    assert [clamp(value) for value in (-1, 0.5, 2)] == [0, 0.5, 1]


def test_a_weighted_sum_is_clamped_and_has_a_weight_for_each() -> None:
    assert weighted((0.5, 0.25), 1, 0.5) == 0.625
    assert weighted((2, 1), 1, 1) == 1
    with pytest.raises(ValueError, match="zip"):
        weighted((1,), 0.5, 0.5)
