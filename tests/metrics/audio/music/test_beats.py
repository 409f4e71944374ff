from pathlib import Path

import numpy as np
import pytest
import torch

from mmeval.metric import WeightsError
from mmeval.metric.model import bound_model
from mmeval.metrics.audio.music.beat_network import RATE, beat_logits, loaded_network
from mmeval.metrics.audio.music.beats import BEAT_THIS, _peaks, beats
from tests.support.hearing import tiny
from tests.support.sounds import pulses, tone
from tests.support.tiny_models import tiny_model

MUSIC = (0.2, 1, 0.5, 1)
BY_THE_PACKAGE = {
    6: (
        301,
        [
            0.97702,
            0.76875,
            1.01813,
            0.80845,
            0.83671,
            0.65736,
            0.93878,
            0.97918,
            0.96921,
        ],
        47,
        142.56,
    ),
    40: (
        2001,
        [
            0.96327,
            1.02645,
            1.10338,
            1.10858,
            1.0984,
            1.06108,
            1.08437,
            1.10667,
            1.12718,
        ],
        298,
        5906.22,
    ),
}
"""By seconds: what beat_this 1.1.0 finds with the same weights: frames, nine of their
logits, beats, their sum."""


@pytest.mark.parametrize("seconds", BY_THE_PACKAGE)
def test_the_logits_and_the_beats_are_those_of_the_released_package(
    seconds: int,
) -> None:
    frames, logits, count, total = BY_THE_PACKAGE[seconds]
    found = beat_logits(
        loaded_network(tiny_model("beat_this"), "cpu"), pulses(seconds, MUSIC)
    )
    times = beats(pulses(seconds, MUSIC), tiny("beat_this", BEAT_THIS))
    assert found.tolist()[:: frames // 8] == pytest.approx(logits, abs=2e-3)
    assert (len(found), len(times), sum(times)) == (frames, count, pytest.approx(total))


def test_a_beat_is_more_likely_than_not_and_not_exceeded_nearby() -> None:
    peaks = {
        (-2, -1, -2): [],
        (2, 0, 0, 1, 0, 0, 0, 1): [0, 7],
        (1, 1, 0, 0, 0): [0, 1],
        (0, 0): [],
    }
    assert {logits: _peaks(np.array(logits, float)) for logits in peaks} == peaks


def test_a_clip_of_any_length_has_beats_or_none_by_a_file_of_the_packages_name(
    tmp_path: Path,
) -> None:
    model = tiny("beat_this", BEAT_THIS)
    for clip in (tone(0), tone(0.05), tone(35)):
        found = beats(clip, model)
        assert found == beats(clip, model) == sorted(found)
        assert all(0 <= time <= len(clip) / RATE for time in found)
    kept = tmp_path / "beat_this-final0.ckpt"
    kept.write_bytes((tiny_model("beat_this") / "final0.ckpt").read_bytes())
    assert beats(tone(1), bound_model(str(tmp_path), BEAT_THIS)) == beats(
        tone(1), model
    )
    kept.write_bytes(b"something else")
    with pytest.raises(WeightsError, match="no checkpoint"):
        loaded_network(tmp_path, "cpu")


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
