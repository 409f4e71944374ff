import numpy as np
import pytest

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.estimate import corrected, people_alone
from mmeval.trust.correction.rated_trials import Places, RatedTrials


def trials(
    proxy: Values,
    human: Values,
    rated: int,
    *,
    weights: Values | None = None,
    clusters: Places | None = None,
    strata: Places | None = None,
) -> RatedTrials:
    """Trials of which the first ones are rated."""
    count = len(human)
    known = np.where(
        np.arange(count) < rated,
        human,
        np.nan,
    )
    zeros = np.zeros(count, dtype=np.intp)
    return RatedTrials(
        proxies=proxy.reshape(count, -1),
        human=known,
        weights=np.ones(count) if weights is None else weights,
        strata=zeros if strata is None else strata,
        clusters=np.arange(count) if clusters is None else clusters,
    )


def noisy(count: int = 400) -> tuple[Values, Values]:
    random = np.random.default_rng(1)
    human = random.random(count)
    return human + 0.2 + 0.1 * random.standard_normal(count), human


def test_the_value_is_that_of_ppi_over_unrated_trials() -> None:
    """PPI++ as published: the mean of unrated predictions, moved by the mean error on
    the rated trials, with lambda = cov / var / (1 + n / N)."""
    judge, human = noisy()
    rated, unrated = judge[:80], judge[80:]
    covariance = np.cov(human[:80], rated)[0, 1]
    variance = judge.var(ddof=1)
    tuned = covariance / variance / (1 + 80 / 320)
    published = human[:80].mean() + tuned * (unrated.mean() - rated.mean())

    estimate = corrected(trials(judge, human, 80))

    assert estimate.value == pytest.approx(published)


def test_a_lenient_judge_is_corrected() -> None:
    judge, human = noisy()
    estimate = corrected(trials(judge, human, 80))
    assert estimate.value == pytest.approx(human.mean(), abs=0.03)


def test_a_good_judge_makes_the_error_smaller() -> None:
    data = trials(*noisy(), 80)
    assert corrected(data).stderr < 0.7 * people_alone(data).stderr


def test_a_contrary_judge_helps_as_much() -> None:
    judge, human = noisy()
    plain = corrected(trials(judge, human, 80))
    contrary = corrected(trials(-judge, human, 80))
    assert contrary.value == pytest.approx(plain.value)
    assert contrary.stderr == pytest.approx(plain.stderr)


def test_a_constant_judge_has_no_weight() -> None:
    _, human = noisy()
    data = trials(np.ones(len(human)), human, 80)
    assert corrected(data).weights == ((0.0,),)
    assert corrected(data).value == people_alone(data).value


def test_two_equal_judges_share_their_weight() -> None:
    judge, human = noisy()
    once = corrected(trials(judge, human, 80))
    both = np.column_stack((judge, judge))
    twice = corrected(trials(both, human, 80))
    assert twice.value == pytest.approx(once.value)
    assert twice.weights[0][0] == pytest.approx(once.weights[0][0] / 2)


def test_if_all_are_rated_the_judge_has_no_say() -> None:
    judge, human = noisy(60)
    estimate = corrected(trials(judge, human, 60))
    assert estimate.value == pytest.approx(human.mean())
    assert estimate.stderr_run == 0
    usual = human.std(ddof=1) / np.sqrt(60)
    assert estimate.stderr == pytest.approx(usual * np.sqrt(59 / 58))


def test_weights_are_inverse_probabilities() -> None:
    judge, human = noisy()
    probability = np.where(np.arange(400) < 40, 0.4, 0.1)
    weights = 1 / probability
    weighted = people_alone(trials(judge, human, 80, weights=weights))
    expected = np.average(human[:80], weights=weights[:80])
    assert weighted.value == pytest.approx(expected)


def test_strata_count_by_their_trials() -> None:
    judge, human = noisy()
    strata = np.arange(400) % 4
    strata[strata > 0] = 1
    estimate = people_alone(trials(judge, human, 80, strata=strata))
    rated = human[:80]
    first = rated[strata[:80] == 0].mean()
    second = rated[strata[:80] == 1].mean()
    assert estimate.value == pytest.approx(0.25 * first + 0.75 * second)


def test_trials_of_a_cluster_count_together() -> None:
    judge, human = noisy(80)
    pairs = np.arange(160) // 2
    data = trials(
        judge.repeat(2),
        human.repeat(2),
        80,
        clusters=pairs,
    )
    alone = trials(judge, human, 40)
    assert corrected(data).value == pytest.approx(corrected(alone).value)
    assert corrected(data).stderr == pytest.approx(corrected(alone).stderr)


def test_an_interval_is_cut_to_the_range() -> None:
    judge, human = noisy()
    estimate = corrected(
        trials(judge, human, 20),
        limits=(0.5, 0.51),
    )
    assert estimate.ci95 == (0.5, 0.51)
