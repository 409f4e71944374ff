import numpy as np
import pytest

from mmeval.metrics.audio.silence import Interval, rms, segments, sounding, trimmed
from tests.support.sounds import alternating, silence, tone

STAIRS = np.concatenate(
    [tone(0.5) * 10 ** (-k / 2) for k in (3, 0, 1, 2, 3, 4, 5, 6, 7, 0, 7, 5, 4)]
).astype(np.float32)
"""Half seconds, each a multiple of 10 dB softer than the loudest."""
SPLIT_BY_LIBROSA = {
    (20, 2048, 512): [(10240, 34304), (98304, 111616)],
    (60, 2048, 512): [(0, 78336), (98304, 111616), (120832, 143325)],
    (45, 4096, 300): [(0, 67500), (97200, 112500), (131400, 143325)],
}
"""What ``librosa.effects.split`` (0.11) finds in the stairs, by decibels, frame and
hop."""


@pytest.mark.parametrize(("top_db", "frame", "hop"), SPLIT_BY_LIBROSA)
def test_sound_and_silence_are_those_of_librosa(
    top_db: int, frame: int, hop: int
) -> None:
    wanted = SPLIT_BY_LIBROSA[top_db, frame, hop]
    assert sounding(STAIRS, top_db, frame=frame, hop=hop) == wanted
    if (frame, hop) == (2048, 512):
        assert len(trimmed(STAIRS, top_db)) == wanted[-1][1] - wanted[0][0]


def test_the_levels_are_those_of_librosa_and_a_silent_clip_is_all_sound() -> None:
    levels = rms(STAIRS)
    wanted = [0.007916, 0.353328, 0.035329, 0.003541, 0.000353, 0.353371, 0.00112]
    assert len(levels) == 280
    assert levels[::40].tolist() == pytest.approx(wanted, abs=1e-6)
    # silent throughout, and so all sound
    for samples in (silence(0.3), silence(3), np.zeros(1, np.float32)):
        assert sounding(samples) == segments(samples) == [Interval(0, len(samples))]
        assert len(trimmed(samples)) == len(samples)
    empty = silence(0)
    assert sounding(empty) == []
    assert segments(empty) == []
    assert list(trimmed(empty)) == []
    assert list(rms(empty)) == []


def test_the_first_segment_begins_with_sound_the_last_goes_to_the_end_and_one_second_is_no_pause() -> (
    None
):
    clip = np.concatenate([silence(2), alternating(1, 2, 1), silence(2)])
    first, last = segments(clip)
    assert first.start == pytest.approx(2 * 22050, abs=2048)
    assert last.end == len(clip)
    assert len(trimmed(clip)) == pytest.approx(4 * 22050, abs=2048)
    first, second = sounding(alternating(1, 1.2, 1))
    gap = (second.start - first.end) / 22050
    assert [
        len(segments(alternating(1, 1.2, 1), gap=limit)) for limit in (gap, gap - 1e-4)
    ] == [1, 2]
