import io
import json
import math
from typing import Any

import numpy as np
import pytest
import soundfile

from mmeval.media import Interleaved, Media, media_part, wav
from mmeval.metrics.audio.audio_quality import audio_quality
from mmeval.records import Score
from tests.support.sounds import DAMAGED, Samples, melody
from tests.support.trials import score_of, trial

RATE = 48000


def noise(level: float = 0.1) -> Samples:
    return (level * np.random.default_rng(3).standard_normal(int(1.5 * RATE))).astype(
        np.float32
    )


def quality(
    *sounds: Samples | Media,
    rate: int = RATE,
    profile: str = "standard",
    **switches: Any,
) -> Score:
    media = [
        sound if isinstance(sound, Media) else wav(sound, rate) for sound in sounds
    ]
    answer = trial(Interleaved(tuple(media_part(one, "audio") for one in media)))
    return score_of(audio_quality, answer, profile, **switches)


def value_of(*sounds: Samples, **switches: Any) -> float:
    value = quality(*sounds, **switches).value
    assert value is not None
    return value


def test_an_answer_is_worth_the_mean_of_its_sounds_and_silence_or_damage_nothing() -> (
    None
):
    one, other = value_of(melody()), value_of(noise())
    assert one == value_of(melody())
    assert [value_of(melody(), noise()), value_of(noise(), melody())] == pytest.approx(
        [(one + other) / 2] * 2
    )
    assert score_of(audio_quality, trial("none")).status == "inapplicable"
    score = quality(np.zeros(RATE, np.float32))
    assert score.value == pytest.approx(0, abs=1e-5)
    assert (
        json.loads(json.dumps(score.to_json(), allow_nan=False))["evidence"]["items"][
            0
        ]["lufs"]
        is None
    )
    assert value_of(np.zeros(RATE, np.float32), profile="official") == 0
    for profile, found in (
        ("standard", (0, "scored")),
        ("official", (None, "unscored")),
    ):
        scores = [
            quality(DAMAGED, profile=profile),
            score_of(audio_quality, trial("listen: <audio1>"), profile),
        ]
        assert [(score.value, score.status) for score in scores] == [found, found]
    assert quality(DAMAGED).evidence["items"][0]["reason"]


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_less_than_a_block_of_loudness_and_more_than_a_quarter_of_an_hour_have_no_quality(
    profile: str,
) -> None:
    click = np.zeros(2 * RATE, np.float32)
    click[1000:1002] = (0.5, -0.5)  # the silence around a sound does not make it longer
    unscored = {
        "0.39 seconds": quality(melody(0.39), profile=profile),
        "0.399 seconds": quality(melody(0.4)[:-1], profile=profile),
        "at least 0.4": quality(click, profile=profile),
        "max_audio_seconds": quality(
            np.zeros(901 * 100, np.float32), rate=100, profile=profile
        ),
    }
    for reason, score in unscored.items():
        assert score.status == "unscored"
        assert score.bounds == (0, 1)
        assert reason in score.reason
    assert quality(melody(0.41), profile=profile).status == "scored"


def test_what_is_beyond_full_scale_counts_as_it_is() -> None:
    loud = 4 * melody()
    file = io.BytesIO()
    soundfile.write(file, loud, RATE, format="WAV", subtype="FLOAT")
    (item,) = quality(Media.from_bytes(file.getvalue())).evidence["items"]
    (quieter,) = quality(melody()).evidence["items"]
    assert item["crest_db"] == pytest.approx(quieter["crest_db"], abs=1e-3)
    assert item["lufs"] == pytest.approx(quieter["lufs"] + 20 * math.log10(4), abs=1e-3)
