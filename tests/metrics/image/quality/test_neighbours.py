from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.metrics.image.quality.neighbours import neighbour_moments

SHIFTS = ((0, 1), (1, 0), (1, 1), (1, -1))


def by_hand(patch: Any) -> list[list[float]]:
    """Of a patch, then of its products: how many are below and above zero, sum of the sizes, of the squares of both
    sides."""
    found = []
    for values in (patch, *(patch * np.roll(patch, shift, (0, 1)) for shift in SHIFTS)):
        low, high = values[values < 0], values[values > 0]
        found.append([len(low), len(high), np.abs(values).sum(), (low**2).sum(), (high**2).sum()])
    return found


def assert_by_hand(patches: Any) -> None:
    found = neighbour_moments(patches, SHIFTS)
    assert found.size == patches[0].size
    for at, patch in enumerate(patches):
        ours = [[some[row, at] for some in (*found[:2], *found[3:])] for row in range(1 + len(SHIFTS))]
        assert ours == [pytest.approx(one, rel=1e-7, abs=0) for one in by_hand(patch)]


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 5), st.integers(2, 12), st.integers(0, 10**6), st.sampled_from([1, 0.3]), st.integers(-12, 2))
def test_they_are_those_of_the_products(count: int, side: int, seed: int, share: float, power: int) -> None:
    rng = np.random.RandomState(seed)
    patches = rng.standard_normal((count, side, side)) * 10.0**power
    assert_by_hand(np.where(rng.random_sample(patches.shape) < share, patches, 0))


def test_even_patches_and_zeros_are_counted_and_a_side_that_is_next_to_nothing_is_exact() -> None:
    patches = np.random.RandomState(0).uniform(0.5, 1.5, (2, 8, 8))
    patches[1, 3, 4] = -1e-12
    for some in (np.array([[[0.0, 0], [0, 0]], [[-2, -2], [-2, -2]], [[3, 0], [0, -3]]]), patches):
        before = some.tolist()
        assert_by_hand(some)
        assert some.tolist() == before
