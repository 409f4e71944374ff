from dataclasses import replace

import numpy as np
import pytest

from mmeval.trust.correction.estimate import corrected
from mmeval.trust.correction.needed import ratings_needed
from mmeval.trust.correction.rated_trials import RatedTrials, two_sided_quantile


def data(count: int = 400, rated: int = 100) -> RatedTrials:
    random = np.random.default_rng(3)
    human = random.random(count)
    judge = human + 0.2 * random.standard_normal(count)
    human[rated:] = np.nan
    zeros = np.zeros(count, dtype=np.intp)
    return RatedTrials(
        proxies=judge[:, np.newaxis],
        human=human,
        weights=np.ones(count),
        strata=zeros,
        clusters=np.arange(count),
    )


def test_the_present_half_width_takes_about_the_present_ratings() -> None:
    trials = data()
    estimate = corrected(trials)
    half_width = 1.96 * estimate.stderr
    assert ratings_needed(trials, estimate, half_width).ratings == pytest.approx(
        100, abs=6
    )


def test_a_half_width_that_all_ratings_do_not_give_is_unreachable() -> None:
    needed = ratings_needed(data(), corrected(data()), 0.01)
    assert needed.ratings is None
    assert needed.least_half_width == pytest.approx(
        two_sided_quantile(1e6) * np.sqrt(1 / 12 / 400), rel=0.1
    )


def test_repeated_trials_need_more_ratings() -> None:
    trials = data(200, 200)
    twice = RatedTrials(
        trials.proxies.repeat(2, axis=0),
        trials.human.repeat(2),
        np.ones(400),
        np.zeros(400, dtype=np.intp),
        np.arange(400),
    )
    in_pairs = replace(twice, clusters=np.arange(400) // 2)
    width = 0.05
    alone = ratings_needed(twice, corrected(twice), width).ratings
    paired = ratings_needed(in_pairs, corrected(in_pairs), width).ratings
    assert alone is not None
    assert paired is not None
    assert paired > 1.8 * alone
