import numpy as np

from mmeval.comparison.ranking import ranks


def test_ranks_are_as_sure_as_their_draws() -> None:
    draws = np.array([3.0, 1.0, 1.1]) + 0.2 * np.random.default_rng(0).normal(
        size=(1000, 3)
    )
    assert [tuple(one) for one in ranks([3.0, 1.0, 1.1], draws)] == [
        (1, (1, 1)),
        (3, (2, 3)),
        (2, (2, 3)),
    ]
