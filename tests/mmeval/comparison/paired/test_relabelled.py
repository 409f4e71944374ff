from typing import Any

import numpy as np

from mmeval.aggregate.aggregators import median
from mmeval.aggregate.scores import Estimate, Scores
from mmeval.comparison.statistics import compare_by_draws


def scores(values: Any, per_cluster: int = 1) -> Scores:
    column = Scores()
    for place, value in enumerate(values):
        name = f"c{place // per_cluster}"
        column.add_value(f"s{place}", 0, float(value), cluster=name)
    return column


def middle(column: Scores) -> Estimate:
    """A median as a plugin would have it."""
    values = sorted(column.values)
    half = len(values) // 2
    whole = len(values) % 2
    return Estimate(values[half] if whole else (values[half - 1] + values[half]) / 2)


def test_medians_of_few_clusters_have_neither_interval_nor_p() -> None:
    a, b = scores([0.0] * 4), scores([1.0] * 4)
    found = compare_by_draws(a, b, median, {}, np.inf)
    assert found is not None
    assert (found.ci95, found.p) == (None, None)
    assert "too few clusters" in found.why


def test_equal_medians_are_rarely_called_different() -> None:
    random = np.random.default_rng(0)
    alarms = 0
    for _ in range(200):
        a, b = random.normal(size=(2, 12))
        found = compare_by_draws(scores(a), scores(b), median, {}, np.inf)
        assert found is not None
        assert found.p is not None
        alarms += found.p < 0.05
    assert alarms / 200 <= 0.07


def test_p_and_interval_of_medians_agree() -> None:
    random = np.random.default_rng(1)
    for _ in range(30):
        a = random.normal(size=20)
        b = a + random.normal(0.5, 1, size=20)
        found = compare_by_draws(scores(a), scores(b), median, {}, np.inf)
        assert found is not None
        assert found.p is not None
        assert found.ci95 is not None
        assert (found.p < 0.05) == (not found.ci95[0] <= 0 <= found.ci95[1])


def test_an_aggregator_of_a_plugin_is_tested_like_the_median() -> None:
    a, b = np.random.default_rng(2).normal(size=(2, 31))
    found = [
        compare_by_draws(scores(a), scores(b + 0.8), aggregator, {}, np.inf)
        for aggregator in (median, middle)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].p == found[1].p
    assert found[0].ci95 == found[1].ci95


def test_clusters_change_their_labels_as_a_whole() -> None:
    a = np.repeat(np.random.default_rng(3).normal(size=5), 4)
    found = compare_by_draws(scores(a, 4), scores(a + 1, 4), median, {}, np.inf)
    assert found is not None
    assert found.clusters == 5
    assert found.ci95 is None
