"""How often the intervals of ranks hold the true rank, of runs made by known rules."""

import numpy as np

from mmeval.comparison.ranking import ranks


def rank_coverage(simulations: int, runs: int = 15, clusters: int = 100) -> float:
    """Of all ranks of runs whose true values are drawn, some close to each other and
    some far apart."""
    random = np.random.default_rng(4)
    held = 0
    for _ in range(simulations):
        truth = random.normal(scale=0.2, size=runs)
        values = (
            truth
            + random.normal(size=(clusters, 1))
            + random.normal(size=(clusters, runs))
        )
        drawn = random.integers(clusters, size=(1000, clusters))
        counts = np.stack([np.bincount(draw, minlength=clusters) for draw in drawn])
        found = ranks(values.mean(axis=0).tolist(), counts @ values / clusters)
        true = [1 + int((truth > own).sum()) for own in truth]
        held += sum(
            one.ci95[0] <= rank <= one.ci95[1]
            for one, rank in zip(found, true, strict=True)
        )
    return held / (simulations * runs)


def test_rank_intervals_hold_the_true_rank() -> None:
    assert rank_coverage(200) >= 0.93
