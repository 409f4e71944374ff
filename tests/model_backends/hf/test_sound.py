from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from mmeval.decode import audio
from mmeval.model_backends.hf.sound import to_sound

TONE = np.sin(np.linspace(0, 50, 800)).astype(np.float32)


@pytest.mark.parametrize("samples", [TONE, TONE[None], torch.from_numpy(TONE)[None, None], TONE.tolist()])
def test_one_channel_of_any_shape_is_the_same_sound(samples: Any) -> None:
    made = to_sound(samples, 24000)
    assert made.sha256 == to_sound(TONE, 24000).sha256
    heard = audio(made)
    assert (heard.rate, heard.samples.shape) == (24000, (800, 1))
    assert np.abs(heard.samples[:, 0] - TONE).max() < 1e-3


@pytest.mark.parametrize("samples", [np.zeros((2, 5)), np.zeros(0), np.full(4, np.nan)], ids=["two", "none", "nan"])
def test_what_is_no_sound_of_one_channel_is_refused(samples: Any) -> None:
    with pytest.raises(ValueError, match=r"no sound|NaN"):
        to_sound(samples, 16000)
