import numpy as np
import pytest

from mmeval.metrics.audio.quality.frequencies.chroma import (
    chroma,
    chroma_variance,
    halved,
)
from mmeval.metrics.audio.quality.recording import RATE
from tests.support.sounds import sine


def test_a_tone_is_of_its_class_in_every_octave_and_a_melody_varies() -> None:
    for hertz, name in {65.406: 0, 440: 9, 3951.07: 11, 554.37: 1}.items():
        found = chroma(sine(hertz), 0.0)
        assert found.shape == (94, 12)
        assert found.max() == 1
        assert set(found[20:-20].argmax(axis=1).tolist()) == {name}
    melody = np.concatenate(
        [sine(hertz, 0.25) for hertz in (262, 330, 392, 523, 440, 349)]
    )
    assert chroma_variance(melody, 0.0) > 3 * chroma_variance(sine(440, 1.5), 0.0)
    assert not chroma(np.zeros(RATE, np.float32), 0.0).any()
    samples = sine()  # at half the rate it keeps its energy
    assert len(halved(samples)) == len(samples) // 2
    assert len(halved(samples[:1001])) == 501
    assert np.square(halved(samples)).sum() == pytest.approx(
        np.square(samples).sum(), rel=1e-3
    )
