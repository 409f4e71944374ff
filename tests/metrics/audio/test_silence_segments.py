import numpy as np

from mmeval.metrics.audio.silence_segments import silence_segments
from tests.support.sounds import alternating, heard, silence
from tests.support.trials import score_of


def test_one_pause_makes_two_segments() -> None:
    clips = [
        alternating(1.5, 2.0, 1.5),
        alternating(1.0, 1.5, 1.0, 1.5, 1.0),
        alternating(1.0, 0.5, 1.0),
    ]
    clips += [silence(3), np.full(1, 0.5, np.float32)]
    for profile in ("standard", "official"):
        scores = [score_of(silence_segments, heard(clip), profile) for clip in clips]
        assert [score.value for score in scores] == [1, 0, 0, 0, 0]
        lengths = [[34304, 33962], [23552, 24064, 22732], [55125], [len(clips[3])], [1]]
        assert [score.evidence for score in scores] == [
            {"segments": found} for found in lengths
        ]
