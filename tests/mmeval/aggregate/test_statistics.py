import math

import pytest
from scipy.special import betaincinv

from mmeval.aggregate.statistics import MANY_CLUSTERS, bootstrap, mean_stderr, quantile, same_value_interval


@pytest.mark.parametrize(
    ("totals", "counts", "expected"),
    [
        # Values 2, 4, 9: mean 5, squares 9 + 1 + 16 = 26, variance 13, so sqrt(13 / 3).
        ([2, 4, 9], [1, 1, 1], math.sqrt(13 / 3)),
        ([0, 4, 4], [4, 4, 4], mean_stderr([0, 1, 1], [1, 1, 1])),
        # (1, 1, 1) and (0): mean 0.75, deviations of the sums +0.75 and -0.75, sqrt(2 / 1 * 2 * 0.75 ** 2) / 4.
        ([3, 0], [3, 1], 0.375),
    ],
    ids=["one trial a cluster", "copies", "uneven"],
)
def test_the_standard_error_of_a_mean_of_clusters(totals: list[float], counts: list[int], expected: float) -> None:
    assert mean_stderr(totals, counts) == pytest.approx(expected)


@pytest.mark.parametrize(("clusters", "printed"), [(2, 12.7062), (5, 2.7764), (20, 2.0930), (101, 1.9840)])
def test_few_clusters_have_the_quantile_of_students_tables(clusters: int, printed: float) -> None:
    assert quantile(clusters) == pytest.approx(printed, abs=1e-4)


def test_many_clusters_have_the_normal_quantile_and_one_value_is_open_to_both_sides() -> None:
    assert quantile(MANY_CLUSTERS) == pytest.approx(1.959964, abs=1e-6)
    assert 1 < quantile(MANY_CLUSTERS - 1) / quantile(MANY_CLUSTERS) < 1.0015
    assert same_value_interval(2.0, 20, (1, 5)) == pytest.approx((2 - 0.1391 * 1, 2 + 0.1391 * 3), abs=1e-4)


@pytest.mark.parametrize("clusters", [1, 2, 10, 100_000])
def test_the_interval_of_all_right_is_that_of_clopper_and_pearson_and_of_all_wrong_its_mirror(clusters: int) -> None:
    low = pytest.approx(betaincinv(clusters, 1, 0.05), rel=1e-12)
    assert same_value_interval(1.0, clusters, (0, 1)) == (low, 1)
    zero, high = same_value_interval(0.0, clusters, (0, 1))
    assert (zero, 1 - high) == (0, low)


def test_a_bootstrapped_interval_leaves_out_two_and_a_half_percent_of_the_draws_a_side() -> None:
    found = bootstrap(lambda drawn: drawn[:, 0].astype(float), 1000, 20_000)
    assert found is not None
    assert found.ci95 == pytest.approx((25, 975), abs=3)
    assert found.stderr == pytest.approx(1000 / math.sqrt(12), rel=0.01)
