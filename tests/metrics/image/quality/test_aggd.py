from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gamma

from mmeval.metrics.image.quality.aggd import fitted, moments_of, nearest_ratios, shapes


def by_hand(values: Any) -> tuple[float, float, float]:
    """The published recipe, one set at a time, with a search through the whole
    table."""
    left = np.sqrt(np.mean(values[values < 0] ** 2))
    right = np.sqrt(np.mean(values[values > 0] ** 2))
    skew = left / right
    ratio = (
        np.mean(np.abs(values)) ** 2
        / np.mean(values**2)
        * (skew**3 + 1)
        * (skew + 1)
        / (skew**2 + 1) ** 2
    )
    tried = 0.2 + 0.001 * np.arange(9801)
    shape = tried[
        np.argmin(
            (gamma(2 / tried) ** 2 / (gamma(1 / tried) * gamma(3 / tried)) - ratio) ** 2
        )
    ]
    factor = np.sqrt(gamma(1 / shape) / gamma(3 / shape))
    return shape, left * factor, right * factor


def drawn(seed: int, power: float, lean: float, size: int = 500) -> Any:
    values = np.random.RandomState(seed).standard_normal(size)
    values = np.sign(values) * np.abs(values) ** power
    return np.where(values > 0, values * lean, values)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.3, 4), st.floats(0.01, 100))
def test_it_is_the_published_recipe(seed: int, power: float, lean: float) -> None:
    values = drawn(seed, power, lean)
    fit = fitted(moments_of(values[None]))
    assert (fit.shape[0], fit.left[0], fit.right[0]) == pytest.approx(
        by_hand(values), rel=1e-9
    )


def test_zeros_belong_to_no_side_and_a_side_next_to_nothing_is_exact() -> None:
    found = moments_of(np.array([[0.0, 0, -2, 1, 1]]))
    assert found.below[0] == 1
    assert found.above[0] == 2
    assert found.size == 5
    assert found.sizes[0] == 4
    assert found.squares_below[0] == 4
    assert found.squares_above[0] == 2
    for values in ([1.0, 2, 3], [-1.0, -2, -3], [0.0, 0, 0]):
        fit = fitted(moments_of(np.array([values])))
        assert np.isnan([fit.shape[0], fit.left[0] + fit.right[0], fit.mean[0]]).all()
    for small in (1e-30, 1e-3):
        found = moments_of(np.array([[-small, 1, 2, 3], [small, -1, -2, -3]]))
        assert found.squares_below == pytest.approx([small**2, 14], rel=1e-9, abs=0)
        assert found.squares_above == pytest.approx([14, small**2], rel=1e-9, abs=0)
    fit = fitted(moments_of(drawn(1, 1, 3)[None]))
    shape, left, right = fit.shape[0], fit.left[0], fit.right[0]
    assert fit.mean[0] == pytest.approx(
        (right - left) * gamma(2 / shape) / gamma(1 / shape)
    )
    assert fit.mean[0] > 0


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1.2), min_size=1, max_size=20))
def test_the_search_by_halves_finds_what_a_search_through_the_table_finds(
    ratios: list[float],
) -> None:
    table = shapes().ratio
    known = [*ratios, *(table[:3] + table[1:4]) / 2, table[0], table[-1]]
    assert nearest_ratios(np.array(known)).tolist() == [
        int(np.argmin((table - ratio) ** 2)) for ratio in known
    ]
