import math

import numpy as np
import pytest

from mmeval.trust.agreement.jackknife import groups_of, jackknifed


def test_the_interval_of_a_correlation_is_that_of_its_inverse_tangent() -> None:
    without = [0.5, 0.6, 0.7]
    scaled = [math.atanh(value) for value in without]
    spread = math.sqrt(2 / 3 * sum((z - sum(scaled) / 3) ** 2 for z in scaled))
    # Student's quantile with two degrees of freedom
    high = math.tanh(math.atanh(0.6) + 4.302653 * spread)

    statistic = jackknifed(0.6, without, "correlation")

    assert statistic.ci95 is not None
    assert statistic.ci95[1] == pytest.approx(high)


def test_the_standard_error_is_on_the_plain_scale() -> None:
    statistic = jackknifed(0.6, [0.5, 0.6, 0.7], "correlation")
    assert statistic.stderr == pytest.approx(math.sqrt(2 / 3 * 0.02))


def test_an_interval_at_the_end_is_plain() -> None:
    statistic = jackknifed(1.0, [1.0, 1.0, 0.9], "kappa")
    assert statistic.ci95 is not None
    assert statistic.ci95[1] == 1.0


def test_two_clusters_have_no_error() -> None:
    assert jackknifed(0.5, [0.4, 0.6], "plain").stderr is None


def test_a_value_unknown_without_a_cluster_has_no_error() -> None:
    assert jackknifed(0.5, [0.4, 0.6, None], "plain").stderr is None


def test_without_disagreement_there_is_no_interval() -> None:
    statistic = jackknifed(1.0, [1.0, 1.0, 1.0], "kappa")
    assert (statistic.stderr, statistic.ci95) == (0.0, None)


def test_up_to_500_clusters_are_left_out_one_by_one() -> None:
    clusters = np.array([0, 1, 0, 2])
    groups = [group.tolist() for group in groups_of(clusters)]
    assert groups == [[0, 2], [1], [3]]


def test_more_clusters_are_left_out_in_200_groups() -> None:
    groups = groups_of(np.arange(501))
    assert len(groups) == 200
    assert groups[0].tolist() == [0, 200, 400]


def test_no_cluster_has_no_group() -> None:
    assert jackknifed(0.5, [], "plain").stderr is None
