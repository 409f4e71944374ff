from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from mmeval.metric import WeightsError
from mmeval.metrics.audio.music.beat_network import beat_logits, loaded_network
from mmeval.metrics.audio.music.beats import BEAT_THIS, _peaks, beats
from tests.support.models import tiny, tiny_model
from tests.support.sounds import pulses

MUSIC = (0.2, 1, 0.5, 1)


def assert_as_the_package(
    seconds: int, frames: int, logits: Sequence[float], count: int, total: float
) -> None:
    """What beat_this 1.1.0 finds with the same weights: frames, nine of their logits,
    beats, their sum."""
    clip = pulses(seconds, MUSIC)
    found = beat_logits(loaded_network(tiny_model("beat_this"), "cpu"), clip)
    times = beats(clip, tiny("beat_this", BEAT_THIS))
    assert found.tolist()[:: frames // 8] == pytest.approx(logits, abs=2e-3)
    assert len(found) == frames
    assert len(times) == count
    assert sum(times) == pytest.approx(total)


def test_the_logits_and_the_beats_are_those_of_the_released_package() -> None:
    logits = [
        *(0.97702, 0.76875, 1.01813, 0.80845, 0.83671),
        *(0.65736, 0.93878, 0.97918, 0.96921),
    ]
    assert_as_the_package(6, 301, logits, count=47, total=142.56)


def test_a_beat_is_more_likely_than_not_and_not_exceeded_nearby() -> None:
    peaks = {
        (-2, -1, -2): [],
        (2, 0, 0, 1, 0, 0, 0, 1): [0, 7],
        (1, 1, 0, 0, 0): [0, 1],
        (0, 0): [],
    }
    assert {logits: _peaks(np.array(logits, float)) for logits in peaks} == peaks


@pytest.mark.parametrize(
    ("lacking", "fault"),
    [
        ("blocks.layers.0.1.net.0.gamma", "Beat This|not in"),
        ("blocks.1.partial.attnF.to_qkv.weight", r"frontend\.blocks\.1\.partial"),
        ("frontend.linear.bias", "frontend.linear.bias"),
    ],
)
def test_a_checkpoint_without_some_of_its_weights_is_refused(
    lacking: str, fault: str, tmp_path: Path
) -> None:
    kept = torch.load(tiny_model("beat_this") / "final0.ckpt", weights_only=True)
    (name,) = [name for name in kept["state_dict"] if name.endswith(lacking)]
    del kept["state_dict"][name]
    torch.save(kept, tmp_path / "final0.ckpt")
    with pytest.raises(WeightsError, match=fault):
        loaded_network(tmp_path, "cpu")
    torch.save({**kept, "hyper_parameters": {"n_layers": 9}}, tmp_path / "final0.ckpt")
    with pytest.raises(WeightsError, match="of 9 layers"):
        loaded_network(tmp_path, "cpu")
