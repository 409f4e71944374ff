import pytest
from scipy.special import betainc, betaincinv, ndtri, stdtrit

from mmeval.aggregate.quantiles import (
    beta_quantile,
    beta_share,
    normal_quantile,
    student_quantile,
)

TAILS = (0.025, 0.05, 0.5, 0.975)


@pytest.mark.parametrize("a", [0.05, 0.5, 1, 2.5, 20, 300])
@pytest.mark.parametrize("b", [0.05, 0.5, 1, 3, 45])
def test_quantiles_of_the_beta_distribution_are_those_of_scipy(
    a: float, b: float
) -> None:
    found = [beta_quantile(a, b, tail) for tail in TAILS]
    assert found == pytest.approx(betaincinv(a, b, TAILS), rel=2e-12)


@pytest.mark.parametrize(("a", "b"), [(5e3, 45), (4e4, 5e5), (3e6, 3e6)])
def test_quantiles_of_many_trials_lose_a_few_digits(a: float, b: float) -> None:
    found = [beta_quantile(a, b, tail) for tail in TAILS]
    assert found == pytest.approx(betaincinv(a, b, TAILS), rel=1e-8)


def test_a_share_of_the_beta_distribution_is_that_of_scipy() -> None:
    values = [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0]
    found = [beta_share(2.5, 7, value) for value in values]
    assert found == pytest.approx(betainc(2.5, 7, values))


@pytest.mark.parametrize("freedom", [0.5, 1, 1.7, 2, 3, 29, 99.5, 399, 400, 5000])
def test_quantiles_of_student_are_those_of_scipy(freedom: float) -> None:
    found = [student_quantile(freedom, tail) for tail in (0.95, 0.975)]
    expected = stdtrit(freedom, (0.95, 0.975))
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_quantile_of_many_clusters_is_the_normal_one() -> None:
    assert student_quantile(1e9, 0.975) == pytest.approx(1.959963984540054, rel=1e-6)


@pytest.mark.parametrize("probability", [1e-12, 0.025, 0.05, 0.5, 0.8, 0.975])
def test_normal_quantiles_are_those_of_scipy(probability: float) -> None:
    found = normal_quantile(probability)
    assert found == pytest.approx(ndtri(probability), rel=1e-12, abs=1e-14)
