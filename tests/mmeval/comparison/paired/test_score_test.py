import math

import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import multinomial
from statsmodels.stats.contingency_tables import mcnemar

from mmeval.comparison.paired.difference_test import interval_of, two_sided
from mmeval.comparison.paired.score_test import ExactTail, ScoreTest


def likeliest_lost(won: int, lost: int, pairs: int, limit: float) -> float:
    """The share of lost pairs with the largest likelihood, if ``limit`` is the true
    difference."""
    tied = pairs - won - lost

    def unlikelihood(share: float) -> float:
        chances = (share + limit, share, 1 - 2 * share - limit)
        return -float(sum(xlogy((won, lost, tied), chances)))

    ends = (max(0.0, -limit), (1 - limit) / 2)
    found = minimize_scalar(unlikelihood, bounds=ends, options={"xatol": 1e-12})
    return float(found.x)


@pytest.mark.parametrize(
    ("won", "lost"), [(0, 1), (5, 5), (0, 9), (3, 17), (40, 41), (900, 1_000)]
)
def test_against_no_difference_it_is_mcnemars_test_of_statsmodels(
    won: int, lost: int
) -> None:
    table = [[7, won], [lost, 7]]
    expected = mcnemar(table, exact=False, correction=False).pvalue
    p = two_sided(ScoreTest(won, lost, won + lost + 14))
    assert p == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize(
    ("won", "lost", "pairs"), [(12, 2, 44), (1, 0, 30), (3, 9, 20), (40, 2, 1_000)]
)
def test_at_the_ends_of_its_interval_the_score_is_the_quantile(
    won: int, lost: int, pairs: int
) -> None:
    found = interval_of(ScoreTest(won, lost, pairs), (won - lost) / pairs, 1.0, 0.05)
    assert found is not None
    for limit in found:
        share = likeliest_lost(won, lost, pairs, limit)
        variance = pairs * (2 * share + limit - limit**2)
        statistic = (won - lost - pairs * limit) / math.sqrt(variance)
        assert abs(statistic) == pytest.approx(1.959963984540054, abs=1e-5)


def test_no_pair_that_differs_leaves_a_known_interval() -> None:
    # n * limit / (1 - limit) is the square of the quantile
    square = 1.959963984540054**2
    found = interval_of(ScoreTest(0, 0, 30), 0.0, 1.0, 0.05)
    assert found is not None
    assert found[1] == pytest.approx(square / (30 + square), abs=1e-12)


def test_an_exact_tail_sums_the_chances_of_all_counts_as_extreme() -> None:
    test, tail = ScoreTest(1, 4, 12), ExactTail(1, 4, 12)
    limit = 0.1
    lost_share = likeliest_lost(1, 4, 12, limit)
    chances = [lost_share + limit, lost_share, 1 - 2 * lost_share - limit]
    expected = 0.0
    for won in range(13):
        for lost in range(13 - won):
            other = ScoreTest(won, lost, 12)
            if (
                other.one_sided_p(limit, above=True)
                <= test.one_sided_p(limit, above=True) + 1e-9
            ):
                counts = [won, lost, 12 - won - lost]
                expected += multinomial.pmf(counts, 12, chances)
    assert tail.one_sided_p(limit, above=True) == pytest.approx(expected, abs=1e-5)


def test_a_rare_difference_passes_no_limit_too_often() -> None:
    """Of 200 pairs 2.5 % are lost and 0.5 % won, and the limit is what that is."""
    counts = [(won, lost) for won in range(12) for lost in range(30)]
    passed = 0.0
    for won, lost in counts:
        evidence = (ScoreTest(won, lost, 200), ExactTail(won, lost, 200))
        if all(one.one_sided_p(-0.02, above=True) < 0.025 for one in evidence):
            chance = multinomial.pmf(
                [won, lost, 200 - won - lost], 200, [0.005, 0.025, 0.97]
            )
            passed += float(chance)
    assert passed < 0.03


def test_a_unit_scales_the_difference() -> None:
    whole, half = ScoreTest(6, 2, 40), ScoreTest(6, 2, 40, unit=0.5)
    found = interval_of(whole, 0.1, 1.0, 0.05)
    scaled = interval_of(half, 0.05, 0.5, 0.05)
    assert found is not None
    assert scaled == pytest.approx((found[0] / 2, found[1] / 2), abs=1e-12)


def test_a_limit_that_cannot_be_passed_is_certain() -> None:
    assert ScoreTest(3, 1, 10).one_sided_p(1.0, above=True) == 0.0
    assert ScoreTest(3, 1, 10).one_sided_p(-1.0, above=False) == 0.0
    assert math.isclose(ScoreTest(10, 0, 10).one_sided_p(1.0, above=True), 0.5)
