import numpy as np
import pytest

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.difference import Difference, difference
from mmeval.trust.correction.estimate import corrected
from mmeval.trust.correction.rated_trials import RatedTrials


def data(values: Values, first_cluster: int = 0) -> RatedTrials:
    count = len(values)
    human = np.where(np.arange(count) < 40, values, np.nan)
    clusters = np.arange(count) + first_cluster
    zeros = np.zeros(count, dtype=np.intp)
    return RatedTrials(
        proxies=values[:, np.newaxis] ** 2,
        human=human,
        weights=np.ones(count),
        strata=zeros,
        clusters=clusters,
    )


def between(a: RatedTrials, b: RatedTrials) -> Difference:
    return difference(a, corrected(a), b, corrected(b))


VALUES = np.random.default_rng(5).random(200)


def test_runs_over_the_same_samples_are_paired() -> None:
    better = 0.9 * VALUES + 0.2
    paired = between(data(VALUES), data(better))
    apart = between(
        data(VALUES),
        data(better, first_cluster=200),
    )
    assert paired.value == apart.value
    assert paired.stderr < 0.3 * apart.stderr


def test_runs_over_other_samples_are_independent() -> None:
    a = data(VALUES)
    b = data(VALUES[::-1], first_cluster=200)
    error_a = corrected(a).stderr
    error_b = corrected(b).stderr
    together = np.hypot(error_a, error_b)
    assert between(a, b).stderr == pytest.approx(together, rel=0.02)


def test_equal_runs_do_not_differ() -> None:
    same = between(data(VALUES), data(VALUES))
    assert (same.value, same.ci95, same.p) == (0.0, None, 1.0)
