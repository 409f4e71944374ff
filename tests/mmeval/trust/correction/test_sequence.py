import numpy as np
import pytest

from mmeval.trust.correction.rated_trials import RatedTrials
from mmeval.trust.correction.sequence import Sequence95, confidence_sequence


def after(rated: int, *, equal: int = 0) -> Sequence95:
    """A sequence over random values; the first ``equal`` of them are 1."""
    random = np.random.default_rng(2)
    human = random.random(500)
    judge = 0.5 * human + 0.5 * random.random(500)
    human[:equal] = 1.0
    human[rated:] = np.nan
    zeros = np.zeros(500, dtype=np.intp)
    trials = RatedTrials(
        proxies=judge[:, np.newaxis],
        human=human,
        weights=np.ones(500),
        strata=zeros,
        clusters=np.arange(500),
    )
    return confidence_sequence(trials, range(rated), (0.0, 1.0))


def half_width(sequence: Sequence95) -> float:
    assert sequence.ci95 is not None
    low, high = sequence.ci95
    return (high - low) / 2


def test_the_first_twenty_ratings_do_not_use_the_judge() -> None:
    random = np.random.default_rng(2)
    assert after(20).value == pytest.approx(random.random(500)[:20].mean())


def test_the_weight_of_the_judge_never_changes_after_twenty() -> None:
    assert after(20).weight == after(60).weight == after(400).weight


def test_there_is_no_interval_below_thirty_clusters() -> None:
    assert after(29).ci95 is None
    assert after(30).ci95 is not None


def test_there_is_no_interval_if_nearly_all_values_are_equal() -> None:
    assert after(44, equal=40).ci95 is None
    assert after(45, equal=40).ci95 is not None


def test_the_interval_becomes_narrower() -> None:
    assert half_width(after(200)) < half_width(after(100)) < half_width(after(50))


def test_it_is_about_half_wider_than_an_ordinary_interval() -> None:
    """At 200 clusters the ratio is 1.55, before the pseudo-observation."""
    sequence = after(200, equal=0)
    random = np.random.default_rng(2)
    human = random.random(500)
    judge = 0.5 * human + 0.5 * random.random(500)
    moved = human - (judge - judge.mean()) * sequence.weight
    moved[:20] = human[:20]
    ordinary = 1.96 * moved[:200].std(ddof=1) / np.sqrt(200)
    assert half_width(sequence) / ordinary == pytest.approx(1.55, abs=0.03)
