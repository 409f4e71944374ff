import numpy as np
import pytest

from mmeval.metrics.audio.silence_segments import silence_segments
from tests.support.sounds import Samples, alternating, heard, silence
from tests.support.trials import score_of


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize(
    ("samples", "value", "lengths"),
    [
        (alternating(1.5, 2.0, 1.5), 1, [34304, 33962]),
        (alternating(1.0, 1.5, 1.0, 1.5, 1.0), 0, [23552, 24064, 22732]),
        (alternating(1.0, 0.5, 1.0), 0, [55125]),
        *((one, 0, [len(one)]) for one in (silence(3), np.full(1, 0.5, np.float32))),
    ],
)
def test_one_pause_makes_two_segments(samples: Samples, value: float, lengths: list[int], profile: str) -> None:
    score = score_of(silence_segments, heard(samples), profile)
    assert (score.value, score.evidence) == (value, {"segments": lengths})
