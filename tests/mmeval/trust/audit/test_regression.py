import numpy as np
import pytest

from mmeval.trust.audit.regression import instrumented_slope

CLUSTERS = np.arange(400) // 2


def test_longer_answers_that_are_better_are_not_favoured() -> None:
    random = np.random.default_rng(0)
    quality = random.standard_normal(400)
    words = quality + random.standard_normal(400)
    score = quality + 0.2 * random.standard_normal(400)
    humans = (
        quality + random.standard_normal(400),
        quality + random.standard_normal(400),
    )
    slope = instrumented_slope(score, humans, words, CLUSTERS)
    assert slope is not None
    assert slope.stderr is not None
    assert abs(slope.value) < 2 * slope.stderr


def test_equal_ratings_give_the_ordinary_regression() -> None:
    random = np.random.default_rng(0)
    human, words, score = random.standard_normal((3, 400))
    slope = instrumented_slope(score, (human, human), words, CLUSTERS)
    assert slope is not None
    design = np.column_stack((np.ones(400), human, words))
    expected = np.linalg.lstsq(design, score, rcond=None)[0][2]
    assert slope.value == pytest.approx(expected)


def test_a_feature_that_does_not_vary_has_no_slope() -> None:
    human = np.arange(400.0)
    assert instrumented_slope(human, (human, human), np.ones(400), CLUSTERS) is None


def test_one_cluster_has_no_error() -> None:
    human = np.array([1.0, 2.0, 4.0])
    words = np.array([1.0, 0.0, 1.0])
    clusters = np.zeros(3, dtype=np.intp)
    slope = instrumented_slope(human, (human, human), words, clusters)
    assert slope is not None
    assert slope.stderr is None
