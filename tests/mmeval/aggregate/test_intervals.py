import math
from array import array
from collections.abc import Sequence
from typing import Any

import pytest
from scipy.special import betaincinv
from scipy.stats import binomtest, norm, t

from mmeval.aggregate.intervals import (
    ALIKE_WITHOUT_RANGE,
    FEW_WITHOUT_RANGE,
    ONE_CLUSTER,
    TOO_FEW,
    bounds_tail,
    same_value_interval,
    share_interval,
    uncertainty_of_terms,
)
from mmeval.aggregate.scores import ClusterSums
from mmeval.aggregate.statistics import Interval, Uncertainty
from mmeval.aggregate.terms import scaled, term_of_sums
from mmeval.records.evidence import Term

SHARE = (0.0, 1.0)
ANY = (-math.inf, math.inf)


def term(
    totals: Sequence[float],
    counts: Sequence[float] = (),
    *,
    range: Interval = SHARE,
    names: Sequence[str] = (),
) -> Term:
    """A mean of clusters, by the sum of each; one trial each unless counts are
    given."""
    clusters = names or [f"c{place}" for place, _ in enumerate(totals)]
    sums = ClusterSums(
        clusters, array("d", totals), array("d", counts or [1.0] * len(totals))
    )
    found = term_of_sums(sums, range)
    assert found is not None
    return found


def of(*terms: Term) -> Uncertainty:
    """The unweighted mean of some means."""
    shared = scaled(terms, 1 / len(terms))
    return uncertainty_of_terms(
        math.fsum(one.share * one.value for one in shared), shared
    )


@pytest.mark.parametrize("right", [1, 19, 39])
def test_right_or_wrong_with_a_trial_a_cluster_is_clopper_and_pearson(
    right: int,
) -> None:
    found = of(term([1.0] * right + [0.0] * (40 - right)))
    expected = binomtest(right, 40).proportion_ci(0.95, "exact")
    assert found.ci95 == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert found.stderr == pytest.approx(
        math.sqrt(right / 40 * (1 - right / 40) / 39), rel=1e-12
    )


@pytest.mark.parametrize("clusters", [2, 10, 100_000])
def test_all_right_is_the_one_sided_interval_and_all_wrong_its_mirror(
    clusters: int,
) -> None:
    low = pytest.approx(betaincinv(clusters, 1, 0.05), rel=1e-12)
    assert same_value_interval(1.0, clusters, SHARE) == (low, 1)
    zero, high = same_value_interval(0.0, clusters, SHARE)
    assert (zero, 1 - high) == (0, low)
    assert of(term([1.0] * 20)).ci95 == (pytest.approx(0.05 ** (1 / 20)), 1)


def test_a_scale_from_one_to_five_is_a_share_of_its_range() -> None:
    grades = [1.0, 2.0, 4.0, 5.0] * 10
    share = of(term([(grade - 1) / 4 for grade in grades])).ci95
    assert share is not None
    expected = pytest.approx([1 + 4 * end for end in share])
    assert of(term(grades, range=(1.0, 5.0))).ci95 == expected


def test_effective_trials_are_fewer_where_trials_of_a_cluster_are_alike() -> None:
    # 30 clusters of four trials that are all right or all wrong: 30 trials
    alike = of(term([4.0] * 18 + [0.0] * 12, [4.0] * 30))
    expected = binomtest(18, 30).proportion_ci(0.95, "exact")
    assert alike.ci95 == pytest.approx((expected.low, expected.high), rel=1e-12)
    # of unlike ones more, corrected by the degrees of freedom of the clusters
    value, stderr = 0.5, math.sqrt((0.25 / 4) ** 2 * 20 / 19 / 20) * 4
    unlike = of(term([3.0, 1.0] * 10, [4.0] * 20))
    trials = 1 + value * (1 - value) / stderr**2
    trials *= (t.ppf(0.975, trials - 1) / t.ppf(0.975, 19)) ** 2
    expected_low = betaincinv(trials / 2, trials / 2 + 1, 0.025)
    assert unlike.stderr == pytest.approx(stderr)
    assert unlike.ci95 == pytest.approx((expected_low, 1 - expected_low))


def test_a_cluster_with_half_of_the_trials_leaves_few_effective_ones() -> None:
    counts = [19.0] + [1.0] * 19
    found = of(term([15.0] + [1.0, 0.0] * 9 + [1.0], counts))
    assert found.effective_clusters == pytest.approx(1 / (0.25 + 19 / 38**2))
    assert found.ci95 is not None
    low, high = found.ci95
    assert low < 0.2
    assert high > 0.95


def test_fewer_than_two_effective_clusters_have_no_interval() -> None:
    found = of(term([40.0, 1.0], [50.0, 2.0]))
    assert (found.ci95, found.no_interval) == (None, TOO_FEW)
    assert found.stderr is not None


def test_one_cluster_tells_nothing() -> None:
    assert of(term([3.0], [4.0])) == Uncertainty(no_interval=ONE_CLUSTER)


def test_rare_wrong_answers_in_repeats_count_as_clusters_and_not_as_trials() -> None:
    # 2 of 30 samples with a wrong repeat: not more evidence than 30 trials have
    found = of(term([4.0] * 28 + [3.0, 3.0], [4.0] * 30))
    value = 1 - 2 / 120
    expected = betaincinv(30 * value, 30 * (1 - value) + 1, 0.025)
    assert found.ci95 is not None
    assert found.ci95[0] == pytest.approx(expected)


# where the range is not finite


def test_symmetric_values_without_a_range_have_students_interval() -> None:
    values = [-2.0, -1.0, 0.0, 1.0, 2.0] * 4
    found = of(term(values, range=ANY))
    assert found.stderr is not None
    half = t.ppf(0.975, 19) * found.stderr
    assert found.ci95 == pytest.approx((-half, half), rel=1e-9)


def test_skewed_values_without_a_range_have_a_longer_side() -> None:
    values = [0.0] * 9 + [1.0] * 5 + [3.0, 8.0]
    found = of(term(values, range=(0.0, math.inf)))
    assert found.stderr is not None
    assert found.ci95 is not None
    value, half = 1.0, t.ppf(0.975, 15) * found.stderr
    assert found.ci95[1] - value > 1.2 * half
    assert found.ci95[0] >= 0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([1.0, 2.0, 4.0, 3.0, 2.0, 1.0, 5.0], FEW_WITHOUT_RANGE),
        ([3.0] * 20, ALIKE_WITHOUT_RANGE),
    ],
    ids=["seven clusters", "alike"],
)
def test_without_a_range_the_reason_for_no_interval_is_given(
    values: list[float], reason: str
) -> None:
    found = of(term(values, range=ANY))
    assert (found.ci95, found.no_interval) == (None, reason)
    assert found.stderr is not None


# several means


def test_a_small_mean_without_errors_is_no_certainty_beside_a_large_one() -> None:
    # Five right ones say that the share is above 0.55; the mean with a half may be as
    # low as 0.52.
    names = [f"d{place}" for place in range(1000)]
    found = of(term([1.0] * 5), term([1.0, 0.0] * 500, names=names))
    assert found.stderr == pytest.approx(0.5 * 0.5 / math.sqrt(999))
    assert found.ci95 is not None
    assert found.ci95[0] < 0.6


def test_a_small_mean_without_errors_does_not_widen_exact_large_ones_much() -> None:
    close = [0.78, 0.8, 0.82, 0.8] * 50
    names = [[f"{of}{place}" for place in range(200)] for of in "abcdefg"]
    many = [term(close, names=own) for own in names]
    small = term([1.0] * 20, names=[f"z{place}" for place in range(20)])
    found = of(*many, small).ci95
    assert found is not None
    assert found[1] - found[0] < 0.1 / 8 * 4


def test_without_a_range_a_mean_of_two_clusters_leaves_a_large_group_without_one() -> (
    None
):
    values = [float(place % 7) for place in range(50)]
    names = [[f"{of}{place}" for place in range(50)] for of in "ab"]
    large = [term(values, range=ANY, names=own) for own in names]
    small = term([1.0, 3.0], range=ANY, names=["x", "y"])
    assert of(*large).ci95 is not None
    assert of(*large, small).no_interval == FEW_WITHOUT_RANGE


def test_a_value_by_rule_is_certain() -> None:
    assert uncertainty_of_terms(0.0, []) == Uncertainty(0.0, (0.0, 0.0))


# shares and bounds


@pytest.mark.parametrize("trials", [3e5, 1e9])
def test_of_very_many_trials_the_interval_is_the_normal_one(trials: float) -> None:
    low, high = share_interval(0.3, trials, 30_000)
    half = t.ppf(0.975, 30_000) * math.sqrt(0.3 * 0.7 / trials)
    assert (low, high) == pytest.approx((0.3 - half, 0.3 + half), rel=1e-4)


def test_the_tail_of_bounds_is_one_half_of_five_percent_without_a_gap() -> None:
    assert bounds_tail(0.0, 0.1) == pytest.approx(0.025, rel=1e-9)
    assert bounds_tail(10.0, 0.1) == pytest.approx(0.05, rel=1e-9)
    assert bounds_tail(0.1, 0.0) == 0.05
    tail: Any = bounds_tail(0.1, 0.1)
    reach = norm.ppf(1 - tail)
    assert norm.cdf(reach + 1) - norm.cdf(-reach) == pytest.approx(0.95)
