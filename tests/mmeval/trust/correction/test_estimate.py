import numpy as np
import pytest

from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.estimate import corrected, people_alone
from mmeval.trust.correction.rated_trials import RatedTrials


def trials(
    proxy: Values,
    human: Values,
    rated: int,
    *,
    weights: Values | None = None,
    clusters: Values | None = None,
    strata: Values | None = None,
) -> RatedTrials:
    """Trials of which the first ones are rated."""
    count = len(human)
    known = np.where(np.arange(count) < rated, human, np.nan)
    zeros = np.zeros(count, dtype=np.intp)
    return RatedTrials(
        proxy.reshape(count, -1),
        known,
        np.ones(count) if weights is None else weights,
        zeros if strata is None else strata.astype(np.intp),
        np.arange(count) if clusters is None else clusters.astype(np.intp),
    )


def noisy(count: int = 400) -> tuple[Values, Values]:
    random = np.random.default_rng(1)
    human = random.random(count)
    return human + 0.2 + 0.1 * random.standard_normal(count), human


def test_a_lenient_judge_is_corrected() -> None:
    judge, human = noisy()
    estimate = corrected(trials(judge, human, 80))
    assert estimate.value == pytest.approx(human.mean(), abs=0.03)


def test_a_good_judge_makes_the_error_smaller() -> None:
    data = trials(*noisy(), 80)
    assert corrected(data).stderr < 0.7 * people_alone(data).stderr


def test_a_contrary_judge_helps_as_much() -> None:
    judge, human = noisy()
    data, contrary = trials(judge, human, 80), trials(-judge, human, 80)
    assert corrected(contrary).value == pytest.approx(corrected(data).value)
    assert corrected(contrary).weights[0][0] == pytest.approx(
        -corrected(data).weights[0][0]
    )


def test_a_constant_judge_has_no_weight() -> None:
    _, human = noisy()
    data = trials(np.ones(len(human)), human, 80)
    assert corrected(data).weights == ((0.0,),)
    assert corrected(data).value == people_alone(data).value


def test_two_equal_judges_share_their_weight() -> None:
    judge, human = noisy()
    once = corrected(trials(judge, human, 80))
    twice = corrected(trials(np.column_stack((judge, judge)), human, 80))
    assert twice.value == pytest.approx(once.value)
    assert twice.weights[0][0] == pytest.approx(once.weights[0][0] / 2)


def test_if_all_are_rated_the_judge_has_no_say() -> None:
    judge, human = noisy(60)
    estimate = corrected(trials(judge, human, 60))
    assert estimate.value == pytest.approx(human.mean())
    assert estimate.stderr_run == 0
    assert estimate.stderr == pytest.approx(
        human.std(ddof=1) / np.sqrt(60) * np.sqrt(59 / 58)
    )


def test_weights_are_inverse_probabilities() -> None:
    judge, human = noisy()
    probability = np.where(np.arange(400) < 40, 0.4, 0.1)
    weighted = people_alone(trials(judge, human, 80, weights=1 / probability))
    share = 2.5 * human[:40].sum() + 10 * human[40:80].sum()
    assert weighted.value == pytest.approx(share / (40 * 2.5 + 40 * 10))


def test_strata_count_by_their_trials() -> None:
    judge, human = noisy()
    strata = np.arange(400) % 4 == 0
    estimate = people_alone(trials(judge, human, 80, strata=strata))
    first, second = human[:80][strata[:80]], human[:80][~strata[:80]]
    assert estimate.value == pytest.approx(0.25 * first.mean() + 0.75 * second.mean())


def test_trials_of_a_cluster_count_together() -> None:
    judge, human = noisy(80)
    pairs = np.arange(160) // 2
    data = trials(judge.repeat(2), human.repeat(2), 80, clusters=pairs)
    alone = trials(judge, human, 40)
    assert corrected(data).value == pytest.approx(corrected(alone).value)
    assert corrected(data).stderr == pytest.approx(corrected(alone).stderr)


def test_an_interval_is_cut_to_the_range() -> None:
    judge, human = noisy()
    low, high = corrected(trials(judge, human, 20), limits=(0.5, 0.51)).ci95
    assert (low, high) == (0.5, 0.51)
