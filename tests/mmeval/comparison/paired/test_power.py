from collections.abc import Callable

import numpy as np
import pytest

from mmeval.comparison.paired.difference_test import two_sided
from mmeval.comparison.paired.power import (
    fewest,
    power_of_equivalence,
    power_of_shares,
    reach_of,
    smallest_difference,
)
from mmeval.comparison.paired.score_test import ExactTail, ScoreTest


def share_of_draws(
    count: int,
    differing: float,
    difference: float,
    passes: Callable[[int, int], bool],
) -> float:
    """The share of simulated comparisons whose won and lost pairs pass. Each outcome is
    tested once, however often it was drawn."""
    share = max(differing, difference)
    chances = [(share + difference) / 2, (share - difference) / 2, 1 - share]
    drawn = np.random.default_rng(0).multinomial(count, chances, size=4_000)[:, :2]
    outcomes, times = np.unique(drawn, axis=0, return_counts=True)
    found = [passes(won, lost) for won, lost in outcomes]
    return float(np.average(found, weights=times))


@pytest.mark.parametrize(
    ("count", "differing", "difference"),
    [(40, 0.3, 0.25), (200, 0.02, 0.04), (2_000, 0.3, 0.03)],
    ids=["few", "rare", "many"],
)
def test_the_power_to_see_is_that_of_simulated_pairs(
    count: int, differing: float, difference: float
) -> None:
    seen = share_of_draws(
        count,
        differing,
        difference,
        lambda won, lost: two_sided(ScoreTest(won, lost, count)) < 0.05,
    )
    expected = power_of_shares(count, differing, difference, 0.05)
    assert seen == pytest.approx(expected, abs=0.025)


@pytest.mark.parametrize(
    ("count", "differing", "margin"),
    [(40, 0.3, 0.25), (200, 0.02, 0.03), (2_000, 0.3, 0.04)],
    ids=["few", "rare", "many"],
)
def test_the_power_to_show_is_that_of_simulated_pairs(
    count: int, differing: float, margin: float
) -> None:
    shown = share_of_draws(
        count,
        differing,
        0.0,
        lambda won, lost: (
            ScoreTest(won, lost, count).one_sided_p(-margin, above=False) < 0.025
        ),
    )
    expected = power_of_equivalence(count, differing, margin, 0.05)
    assert shown == pytest.approx(expected, abs=0.025)


def test_the_power_to_show_counts_in_the_exact_tail_of_rare_differences() -> None:
    """69 pairs pass by the score test in 83 %, and by the gate in 79 %."""

    def passes(won: int, lost: int) -> bool:
        tests = (ScoreTest(won, lost, 69), ExactTail(won, lost, 69))
        return all(test.one_sided_p(-0.1, above=False) < 0.025 for test in tests)

    expected = power_of_equivalence(69, 0.05, 0.1, 0.05)
    assert share_of_draws(69, 0.05, 0.0, passes) == pytest.approx(expected, abs=0.02)


def test_a_standard_error_of_few_clusters_is_trusted_less() -> None:
    few, many = reach_of(7, 7, 0.05, 0.8), reach_of(1e6, 1e6, 0.05, 0.8)
    assert many == pytest.approx(1.959964 + 0.841621, abs=1e-5)
    random = np.random.default_rng(0)
    pilot, found = np.sqrt(random.chisquare(7, size=(2, 100_000)) / 7)
    normal = random.normal(size=100_000)
    seen = np.mean(normal + few * pilot > 2.364624 * found)
    assert seen == pytest.approx(0.8, abs=0.01)


def test_a_rare_difference_adds_to_its_own_error() -> None:
    difference = smallest_difference(2.8, 0.01, 0.002)
    assert difference == pytest.approx(2.8 * (0.01**2 + 0.002 * difference) ** 0.5)


def test_the_fewest_are_found_to_a_hundredth() -> None:
    assert fewest(lambda count: count >= 37, 2) == 37
    assert fewest(lambda count: count >= 70_000, 2) == pytest.approx(70_000, rel=0.01)
