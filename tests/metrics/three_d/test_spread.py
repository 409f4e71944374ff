import math

import numpy as np
import pytest

from mmeval.metrics.three_d.spread import clamp, far_share, variation, weighted


def test_variation_the_share_far_out_and_a_clamped_weighted_sum() -> None:
    # One less e to minus the quartile range over the median; where that is zero the
    # mean size stands for it.
    found: dict[tuple[float, ...], float] = {
        (1, 2, 3, 4, 5): 1 - math.exp(-2 / 3),
        (1, 2, 3, 4): 1 - math.exp(-1.5 / 2.5),
    }
    found |= {(-1, 0, 0, 1, 3): 1 - math.exp(-1)}
    # Too few or equal numbers.
    found |= dict.fromkeys(
        [(), (1, 9, 100), (2, 2, 2, 2), (math.nan, 1, math.inf, 7, 9), (0, 0, 0, 0)], 0
    )
    assert {
        numbers: variation(np.array(numbers, float)) for numbers in found
    } == pytest.approx(found)
    # Far out is beyond two and a half deviations: these have 3 from the mean, 2.449,
    # none, nothing.
    numbers = [[0.0] * 9 + [1.0], [0.0] * 6 + [1.0], [0.1] * 9, []]
    assert [far_share(np.array(some)) for some in numbers] == [0.1, 0, 0, 0]
    assert [clamp(value) for value in (-1, 0.5, 2)] == [0, 0.5, 1]
    assert weighted((0.5, 0.25), 1, 0.5) == 0.625
    assert weighted((2, 1), 1, 1) == 1
    with pytest.raises(ValueError, match="zip"):
        weighted((1,), 0.5, 0.5)
