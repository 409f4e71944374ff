"""Beats of clips that are longer than one window of the network."""

from pathlib import Path

import pytest

from mmeval.metric import WeightsError
from mmeval.metric.model import bound_model
from mmeval.metrics.audio.music.beat_network import RATE, loaded_network
from mmeval.metrics.audio.music.beats import BEAT_THIS, beats
from tests.metrics.audio.music.test_beats import assert_as_the_package
from tests.support.models import tiny, tiny_model
from tests.support.sounds import tone


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
    with pytest.raises(WeightsError, match="not a checkpoint"):
        loaded_network(tmp_path, "cpu")


def test_the_logits_and_the_beats_of_a_long_clip_are_those_of_the_released_package() -> (
    None
):
    logits = [
        *(0.96327, 1.02645, 1.10338, 1.10858, 1.0984),
        *(1.06108, 1.08437, 1.10667, 1.12718),
    ]
    assert_as_the_package(40, 2001, logits, count=298, total=5906.22)
