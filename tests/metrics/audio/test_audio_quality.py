from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmeval.content.encode import wav
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, media_part, text_part
from mmeval.errors import UsageError
from mmeval.metrics.audio.audio_quality import audio_quality
from mmeval.records.score import Score
from tests.support.trials import score_of, trial

RATE = 48000
Samples = np.ndarray[Any, np.dtype[np.float32]]


def melody(seconds: float = 1.5, gain: float = 1.0) -> Samples:
    """Plucked chords."""
    t = np.arange(int(seconds * RATE)) / RATE
    beat = np.floor(t / 0.3).astype(int)
    roots = np.array([262, 330, 392, 349, 294, 440])[beat % 6]
    tones = sum(np.sin(2 * np.pi * roots * ratio * t) / ratio for ratio in (1, 1.25, 1.5, 2, 3))
    return np.asarray(0.25 * gain * tones * np.exp(-5 * (t % 0.3)), np.float32)


def noise(seconds: float = 1.5, level: float = 0.1) -> Samples:
    return (level * np.random.default_rng(3).standard_normal(int(seconds * RATE))).astype(np.float32)


def answered(*sounds: Samples | Media, rate: int = RATE) -> Any:
    media = [sound if isinstance(sound, Media) else wav(sound, rate) for sound in sounds]
    return trial(Interleaved(tuple(media_part(one, "audio") for one in media)))


def quality(*sounds: Samples | Media, rate: int = RATE, profile: str = "standard", **switches: Any) -> Score:
    return score_of(audio_quality, answered(*sounds, rate=rate), profile, **switches)


def value_of(sound: Samples) -> float:
    value = quality(sound).value
    assert value is not None
    return value


def item(score: Score) -> dict[str, Any]:
    (found,) = score.evidence["items"]
    return dict(found)


def test_an_answer_is_worth_the_mean_of_its_sounds() -> None:
    one, other = quality(melody()).value, quality(noise()).value

    assert one is not None and other is not None
    assert quality(melody(), noise()).value == pytest.approx((one + other) / 2)
    assert quality(noise(), melody()).value == pytest.approx((one + other) / 2)


def test_an_answer_without_a_sound_is_inapplicable() -> None:
    assert score_of(audio_quality, trial(Interleaved((text_part("none"),)))).status == "inapplicable"


def test_what_cannot_be_read_is_zero_and_unscored_as_released() -> None:
    damaged = Media.from_bytes(b"RIFF\x10\x00\x00\x00WAVEfmt ")

    assert quality(damaged).value == 0
    assert item(quality(damaged))["reason"]
    assert quality(damaged, profile="official").status == "unscored"


def test_a_sound_that_is_only_named_is_zero() -> None:
    named = trial("listen: <audio1>")

    assert score_of(audio_quality, named).value == 0
    assert score_of(audio_quality, named, "official").status == "unscored"


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_less_than_a_block_of_loudness_has_no_quality(profile: str) -> None:
    score = quality(melody(0.39), profile=profile)

    assert (score.status, score.bounds) == ("unscored", (0, 1))
    assert "0.39 seconds of sound" in score.reason and "0.4 are the least" in score.reason
    assert "0.399 seconds of sound" in quality(melody(0.4)[:-1], profile=profile).reason
    assert quality(melody(0.41), profile=profile).status == "scored"


def test_the_silence_around_a_sound_does_not_make_it_longer() -> None:
    click = np.zeros(2 * RATE, np.float32)
    click[1000:1002] = (0.5, -0.5)

    assert quality(click).status == "unscored"


@pytest.mark.parametrize("profile", ["standard", "official"])
def test_a_very_long_sound_has_no_quality(profile: str) -> None:
    score = quality(np.zeros(901 * 100, np.float32), rate=100, profile=profile)

    assert (score.status, "max_audio_seconds" in score.reason) == ("unscored", True)


def test_silence_is_worth_nothing_and_its_evidence_is_json() -> None:
    score = quality(np.zeros(RATE, np.float32))

    assert score.value == pytest.approx(0, abs=1e-5)
    assert item(score)["lufs"] is None
    json.dumps(score.to_json(), allow_nan=False)
    assert quality(np.zeros(RATE, np.float32), profile="official").value == 0


def test_the_official_score_is_rounded() -> None:
    found = item(quality(melody(), profile="official"))

    assert found["quality"] == round(found["quality_0_100"], 2) / 100
    assert found["quality_0_100"] == 100 * found["q01"] ** 0.7


def test_with_the_released_margin_noise_in_music_is_not_heard() -> None:
    noisy = melody() + noise(level=0.01)

    released, mended = quality(noisy, profile="official"), quality(noisy)

    assert item(released)["is_music"]
    assert item(released)["snr_db_eff"] == 50
    assert item(mended)["snr_db_eff"] < 40


def test_the_estimate_by_separation_can_be_left_out() -> None:
    found = item(quality(melody(), hpss_margin=None))

    assert found["is_music"]
    assert found["snr_db_hpss"] is None
    assert found["snr_db_eff"] == pytest.approx(max(found["snr_db_orig"], found["snr_db_sf"] or -10))


def test_the_bonus_of_periodicity_is_applied_unless_official() -> None:
    mended, without = (
        item(quality(melody(), hpss_margin=1.0)),
        item(quality(melody(), hpss_margin=1.0, apply_b_per=False)),
    )

    assert mended["bonus_periodic"] > 1
    assert mended["q01"] == pytest.approx(min(1, without["q01"] * mended["bonus_periodic"]))


def test_the_power_is_that_of_the_combination() -> None:
    released, paper = item(quality(melody())), item(quality(melody(), combination="paper"))

    assert released["quality"] == pytest.approx(released["q01"] ** 0.7)
    assert paper["quality"] == pytest.approx(paper["q01"])
    assert item(quality(melody(), final_power=0.5))["quality"] == pytest.approx(released["q01"] ** 0.5)


@pytest.mark.parametrize(
    "switches",
    [
        {"hpss_margin": 0.9},
        {"hpss_margin": 1001.0},
        {"hpss_margin": float("nan")},
        {"final_power": 0.0},
        {"final_power": float("inf")},
        {"combination": "mean"},
    ],
)
def test_switches_have_their_ranges(switches: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        quality(melody(), **switches)


def test_channels_are_one_sound_in_any_order() -> None:
    left, right = melody(), noise(level=0.05)

    one = quality(np.stack([left, right], axis=1)).value
    assert quality(np.stack([right, left], axis=1)).value == pytest.approx(one, abs=1e-6)
    assert quality(np.stack([left, left], axis=1)).value == quality(left).value


def test_the_sign_does_not_matter() -> None:
    assert quality(-melody()).value == pytest.approx(quality(melody()).value, abs=1e-4)  # whole numbers round down


def test_the_same_sound_has_the_same_quality() -> None:
    assert quality(melody()) == quality(melody())


def test_terms_of_shape_do_not_depend_on_the_gain() -> None:
    loud, quiet = item(quality(melody())), item(quality(melody(gain=0.5)))

    for name in ("structure(1-SF)", "periodic_peak", "crest_db", "bandwidth_raw", "contrast_db", "chroma_var"):
        assert quiet[name] == pytest.approx(loud[name], rel=0.02, abs=1e-3), name
    assert quiet["lufs"] == pytest.approx(loud["lufs"] - 6.02, abs=0.01)


def test_the_more_noise_the_lower() -> None:
    values = [value_of(melody() + noise(level=level)) for level in (0.0, 0.003, 0.03, 0.3)]

    assert values == sorted(values, reverse=True)


def test_the_more_is_clipped_the_lower() -> None:
    values = [value_of(np.clip(melody() * gain, -1, 1)) for gain in (1, 3, 10, 100)]

    assert values == sorted(values, reverse=True)


def test_the_longer_the_gap_the_lower() -> None:
    values = []
    for gap in (0.0, 0.25, 0.5, 0.8):
        samples = melody(2.0)
        samples[int(0.8 * RATE) : int((0.8 + gap) * RATE)] = 0
        values.append(item(quality(samples))["gap_cov_penalty"])

    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]


def made(kind: str, count: int, seed: int) -> Samples:
    """A sound that is not made on purpose."""
    rng, at = np.random.default_rng(seed), np.arange(count)
    kinds = {
        "noise": rng.uniform(-1, 1, count),
        "impulses": np.where(at % 97 == 0, 1.0, 0.0),
        "constant": np.ones(count),
        "steps": np.repeat(rng.uniform(-1, 1, count // 100 + 1), 100)[:count],
        "square": np.sign(np.sin(at * 0.05)),
        "sparse": np.where(rng.random(count) < 0.001, 1.0, 0.0),
    }
    return np.asarray(kinds[kind], np.float32)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["noise", "impulses", "constant", "steps", "square", "sparse"]),
    count=st.integers(1, 30000),
    gain=st.sampled_from([0.0, 1e-4, 1e-2, 0.9, 1.0]),
    rate=st.sampled_from([4000, 8000, 22050, 44100, 48000, 96000]),
    seed=st.integers(0, 999),
)
def test_every_sound_has_a_quality_from_nothing_to_one_or_a_reason(
    kind: str, count: int, gain: float, rate: int, seed: int
) -> None:
    samples = made(kind, count, seed)

    score = quality((gain * samples).astype(np.float32), rate=rate)

    json.dumps(score.to_json(), allow_nan=False)
    if score.status == "scored":
        assert score.value is not None and 0 <= score.value <= 1
    else:
        assert (score.status, "loudness" in score.reason) == ("unscored", True)
