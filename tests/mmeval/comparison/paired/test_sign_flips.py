import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import permutation_test

from mmeval.comparison.paired.difference_test import interval_of, two_sided
from mmeval.comparison.paired.sign_flips import (
    AllFlips,
    DrawnFlips,
    fewest_for,
    sign_flips,
)

Values = NDArray[np.float64]


def equal(count: int) -> Values:
    return np.full(count, 1 / count)


def spread(count: int, seed: int = 0) -> Values:
    return np.random.default_rng(seed).normal(size=count) + 0.5


def flips(values: list[float]) -> float:
    return two_sided(AllFlips(np.array(values, float), equal(len(values))))


def test_it_is_the_permutation_test_of_scipy() -> None:
    a, b = spread(11), spread(11, 1)
    expected = permutation_test(
        (b, a),
        lambda first, second: float(np.mean(first - second)),
        permutation_type="samples",
        vectorized=False,
        n_resamples=np.inf,
    )
    found = two_sided(AllFlips((b - a) / 11, equal(11)))
    assert found == pytest.approx(float(expected.pvalue), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "p"),
    [([0] * 6, 1.0), ([1] * 6, 2 / 64), ([1] * 5, 2 / 32), ([1, 0, 0], 1.0)],
    ids=["none differ", "six alike", "five alike", "one of three"],
)
def test_p_is_no_smaller_than_the_clusters_allow(values: list[float], p: float) -> None:
    assert flips(values) == p


@pytest.mark.parametrize("count", [6, 20, 40])
def test_the_interval_leaves_out_zero_exactly_where_p_is_below(count: int) -> None:
    for seed in range(15):
        # whole numbers: many sums are ties
        added = np.random.default_rng(seed).integers(-2, 4, size=count) / count
        evidence = sign_flips(added, equal(count))
        found = interval_of(evidence, float(added.sum()), np.inf, 0.05)
        assert found is not None
        assert (two_sided(evidence) < 0.05) == (not found[0] <= 0 <= found[1])


def test_drawn_ways_tell_what_all_of_them_do() -> None:
    added = spread(18) / 18
    found = [
        interval_of(evidence, float(added.sum()), np.inf, 0.05)
        for evidence in (AllFlips(added, equal(18)), DrawnFlips(added, equal(18)))
    ]
    assert found[0] is not None
    assert found[1] == pytest.approx(found[0], abs=0.05)
    p = [two_sided(one(added - 0.8 / 18, equal(18))) for one in (AllFlips, DrawnFlips)]
    assert p[1] == pytest.approx(p[0], abs=0.02)


def test_drawn_ways_are_always_the_same() -> None:
    first, second = (DrawnFlips(spread(40) / 40, equal(40)) for _ in range(2))
    assert first.one_sided_p(0.2, above=False) == second.one_sided_p(0.2, above=False)


def test_a_drawn_p_is_never_zero() -> None:
    assert two_sided(DrawnFlips(np.ones(60) / 60, equal(60))) == pytest.approx(2e-4)


def test_unequal_clusters_are_shifted_by_their_shares() -> None:
    shares = np.array([0.5, 0.1, 0.1, 0.1, 0.1, 0.1])
    # each cluster has the same mean difference: that is the only one not rejected
    found = interval_of(AllFlips(0.3 * shares, shares), 0.3, 1.0, 0.05)
    assert found == pytest.approx((0.3, 0.3))


@pytest.mark.parametrize(("alpha", "fewest"), [(0.05, 6), (0.0625, 6), (0.01, 8)])
def test_so_many_clusters_can_be_beyond_chance(alpha: float, fewest: int) -> None:
    assert fewest_for(alpha) == fewest
    assert 2.0 ** (1 - fewest) < alpha <= 2.0 ** (2 - fewest)
