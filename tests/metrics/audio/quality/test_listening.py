import numpy as np

from mmeval.metrics.audio.quality.listening import heard_in
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import Samples, white


def chords() -> Samples:
    t = np.arange(RATE * 3 // 2) / RATE
    roots = np.array([262, 330, 392, 349, 294])[(t / 0.3).astype(int) % 5]
    tones = sum(
        np.sin(2 * np.pi * roots * ratio * t) / ratio for ratio in (1, 1.25, 1.5, 2, 3)
    )
    return np.asarray(0.25 * tones * np.exp(-5 * (t % 0.3)), np.float32)


def test_only_music_is_separated_and_only_with_a_margin() -> None:
    found = heard_in(chords(), 1.0)
    assert found.snr_db_hpss is not None and found.snr_db_hpss > found.snr_db_orig
    assert found.snr_db_eff == 50
    assert (
        heard_in(chords(), None).snr_db_hpss,
        heard_in(white(RATE), 3.0).snr_db_hpss,
    ) == (None, None)
