import math
from typing import Any

import pytest
from scipy.special import betaincinv, stdtrit

from mmeval.aggregate.resampling import bootstrap
from mmeval.aggregate.statistics import MANY_CLUSTERS, quantile, same_value_interval


def test_few_clusters_have_the_quantile_of_students_tables_and_many_the_normal_one() -> (
    None
):
    for clusters, printed in {2: 12.7062, 5: 2.7764, 20: 2.0930, 101: 1.9840}.items():
        assert quantile(clusters) == pytest.approx(printed, abs=1e-4)
    few = range(2, MANY_CLUSTERS)
    assert [quantile(clusters) for clusters in few] == pytest.approx(
        [stdtrit(n - 1, 0.975) for n in few], rel=1e-12
    )
    assert quantile(MANY_CLUSTERS) == pytest.approx(1.959964, abs=1e-6)
    assert 1 < quantile(MANY_CLUSTERS - 1) / quantile(MANY_CLUSTERS) < 1.0015


@pytest.mark.parametrize("clusters", [1, 2, 10, 100_000])
def test_the_interval_of_all_right_is_that_of_clopper_and_pearson_and_of_all_wrong_its_mirror(
    clusters: int,
) -> None:
    low = pytest.approx(betaincinv(clusters, 1, 0.05), rel=1e-12)
    assert same_value_interval(1.0, clusters, (0, 1)) == (low, 1)
    zero, high = same_value_interval(0.0, clusters, (0, 1))
    assert (zero, 1 - high) == (0, low)
    assert same_value_interval(2.0, 20, (1, 5)) == pytest.approx(
        (2 - 0.1391 * 1, 2 + 0.1391 * 3), abs=1e-4
    )


def test_a_bootstrapped_interval_leaves_out_two_and_a_half_percent_of_the_draws_a_side() -> (
    None
):
    found: Any = bootstrap(lambda drawn: drawn[:, 0].astype(float), 1000, 20_000)
    assert found.ci95 == pytest.approx((25, 975), abs=3)
    assert found.stderr == pytest.approx(1000 / math.sqrt(12), rel=0.01)
