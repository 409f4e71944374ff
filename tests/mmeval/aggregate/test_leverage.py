"""Beside the matrices that the formulas were written out from."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mmeval.aggregate.leverage import (
    adjusted,
    connected,
    effective_clusters,
    freedom,
    satterthwaite,
)

SIZES = {
    "two": [1, 1],
    "equal": [5] * 12,
    "1 to 20": list(range(1, 21)),
    "one holds half": [19] + [1] * 19,
    "nearly all in one": [20, 1, 1],
}


def of_covariances(covariances: NDArray[np.float64]) -> float:
    """Satterthwaite's degrees of freedom of a sum of squares."""
    return float(np.trace(covariances) ** 2 / (covariances**2).sum())


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES.keys())
def test_the_degrees_of_freedom_are_the_fewer_of_unlike_and_of_equal_trials(
    sizes: list[int],
) -> None:
    shares = np.asarray(sizes) / sum(sizes)
    adjusted = shares / np.sqrt(1 - shares)

    # The residual of a cluster's sum, where trials are independent and where all trials
    # of a cluster are the same.
    from_mean = np.eye(len(shares)) - shares
    unlike = np.outer(1 / np.sqrt(1 - shares), 1 / np.sqrt(1 - shares)) * (
        np.diag(shares) - np.outer(shares, shares)
    )
    same = (adjusted[:, None] * from_mean) @ (adjusted[:, None] * from_mean).T

    expected = min(of_covariances(unlike), of_covariances(same))
    assert freedom(shares.tolist()) == pytest.approx(expected, rel=1e-10)


def test_a_residual_grows_by_what_its_cluster_pulls_the_mean_to_itself() -> None:
    assert adjusted([3.0, 3.0], [0.5, 0.5]).tolist() == pytest.approx([18**0.5] * 2)
    assert adjusted([3.0, 1.0], [0.75, 0.25]).tolist() == pytest.approx(
        [6.0, (4 / 3) ** 0.5]
    )
    assert adjusted([0.0], [1.0]).tolist() == [0.0]


@pytest.mark.parametrize("clusters", [2, 5000])
def test_equal_clusters_have_one_degree_of_freedom_less_than_there_are(
    clusters: int,
) -> None:
    shares = [1 / clusters] * clusters
    assert freedom(shares) == pytest.approx(clusters - 1, rel=1e-9)
    assert effective_clusters(shares) == pytest.approx(clusters, rel=1e-12)


def test_degrees_of_freedom_of_a_sum_of_variances_are_those_of_welch() -> None:
    a, b = [1.0, 2.0, 4.0, 8.0], [3.0, 3.5, 5.0, 9.0, 20.0, 21.0]
    variances = [float(np.var(side, ddof=1)) / len(side) for side in (a, b)]
    expected = stats.ttest_ind(a, b, equal_var=False).df
    assert satterthwaite(variances, [3.0, 5.0]) == pytest.approx(expected, abs=1e-12)
    assert satterthwaite([0.0, 0.0], [3.0, 5.0]) == 8.0


def test_means_with_a_common_cluster_are_connected_also_through_a_third() -> None:
    assert connected(["ab", "cd", "ef", "bc"]) == [[0, 1, 3], [2]]
