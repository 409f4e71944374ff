from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mmeval.trust.agreement.statistics import (
    accuracy,
    kappa,
    kappa_linear,
    kappa_quadratic,
    mid_ranks,
    pearson,
    spearman,
)

Column = NDArray[np.float64]
FIRST = np.array([1.0, 2, 2, 4, 5, 5, 1, 3])
SECOND = np.array([1.0, 2, 3, 4, 4, 5, 2, 3])
KAPPAS = {"": kappa, "linear": kappa_linear, "quadratic": kappa_quadratic}


def test_accuracy_counts_equal_values() -> None:
    assert accuracy(FIRST, SECOND) == 5 / 8


@pytest.mark.parametrize("weights", KAPPAS)
def test_kappa_is_that_of_its_definition(weights: str) -> None:
    apart = np.abs(FIRST[:, None] - SECOND)
    distances = {"": apart > 0, "linear": apart, "quadratic": apart**2}[weights]
    by_chance = float(distances.mean())
    observed = float(np.diag(distances).mean())
    value = KAPPAS[weights](FIRST, SECOND)
    assert value == pytest.approx(1 - observed / by_chance)


def test_an_unused_level_does_not_change_a_weighted_kappa() -> None:
    with_gap = kappa_linear(
        np.array([1.0, 5, 5]),
        np.array([1.0, 1, 5]),
    )
    assert with_gap == pytest.approx(
        kappa(np.array([0.0, 1, 1]), np.array([0.0, 0, 1]))
    )


def test_kappa_below_chance_is_negative() -> None:
    assert kappa(np.array([0.0, 1]), np.array([1.0, 0])) == -1


@pytest.mark.parametrize("statistic", KAPPAS.values(), ids=KAPPAS)
def test_kappa_of_a_single_value_is_unknown(
    statistic: Callable[[Column, Column], float | None],
) -> None:
    same = np.array([0.1, 0.1, 0.1])
    assert statistic(same, same) is None


def test_pearson_is_that_of_scipy() -> None:
    expected = stats.pearsonr(FIRST, SECOND).statistic
    assert pearson(FIRST, SECOND) == pytest.approx(expected)


def test_spearman_is_that_of_scipy() -> None:
    expected = stats.spearmanr(FIRST, SECOND).statistic
    assert spearman(FIRST, SECOND) == pytest.approx(expected)


@pytest.mark.parametrize("statistic", [pearson, spearman])
def test_a_constant_column_has_no_correlation(
    statistic: Callable[[Column, Column], float | None],
) -> None:
    assert statistic(FIRST, np.full(8, 0.1)) is None


def test_two_trials_have_no_correlation() -> None:
    assert pearson(FIRST[:2], SECOND[:2]) is None


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_pearson_does_not_depend_on_the_scale(scale: float) -> None:
    assert pearson(FIRST * scale, SECOND) == pytest.approx(pearson(FIRST, SECOND))


def test_equal_values_share_their_mean_rank() -> None:
    assert mid_ranks(np.array([3.0, 1, 3])).tolist() == [2.5, 1, 2.5]
