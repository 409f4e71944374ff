import io
from typing import Any

import numpy as np
import pytest
import soundfile

from mmeval.media import Media, wav
from mmeval.metrics.audio import clips
from mmeval.metrics.audio.clips import RATE, clip, decodable, resampled, the_only_clip
from mmeval.records import Score, Trial
from tests.support.sounds import DAMAGED, Samples, heard, tone
from tests.support.trials import trial

LOADED_BY_LIBROSA = {
    8000: (
        2205,
        [
            -0.4433346092700958,
            -0.0850757360458374,
            0.32722386717796326,
            -0.01786142960190773,
        ],
        356.4590759,
    ),
    22050: (
        800,
        [-0.488525390625, 0.17578125, -0.137451171875, -0.180419921875],
        129.9738770,
    ),
    44100: (
        400,
        [
            -0.209104523062706,
            0.05814221501350403,
            -0.129037007689476,
            -0.15432803332805634,
        ],
        48.2203064,
    ),
}
"""By the rate of the file: how many samples ``librosa.load`` (0.11) gives, four of
them, and the sum of all amounts."""


def stereo(rate: int) -> Media:
    """800 frames of steady hiss, another one in each channel."""
    n = np.arange(800)
    return written(
        np.stack([n * 7919 % 2001 - 1000, n * 104729 % 2003 - 1001], axis=1).astype(
            np.int16
        )
        * 16,
        rate,
    )


def written(samples: Any, rate: int = RATE, subtype: str = "PCM_16") -> Media:
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", subtype=subtype)
    return Media.from_bytes(file.getvalue())


@pytest.mark.parametrize("rate", LOADED_BY_LIBROSA)
def test_a_clip_is_what_librosa_loads_and_cannot_be_changed(rate: int) -> None:
    count, some, total = LOADED_BY_LIBROSA[rate]
    samples = clip(stereo(rate))
    assert samples.dtype == np.float32
    assert samples.shape == (count,)
    assert samples.flags.writeable is False
    assert samples[[0, 100, 200, -1]] == pytest.approx(some, abs=1e-6)
    assert np.abs(samples).sum() == pytest.approx(total, rel=1e-6)
    lengths = {(1, 48000): 1, (3, 44100): 2, (7, 22050): 7}  # rounded up
    assert {
        one: len(resampled(np.ones(one[0], np.float32), one[1], RATE))
        for one in lengths
    } == lengths


def test_a_clip_is_decoded_once_unless_it_is_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[int] = []

    def counted(samples: Samples, rate: int, wanted: int) -> Samples:
        made.append(wanted)
        return resampled(samples, rate, wanted)

    monkeypatch.setattr(clips, "resampled", counted)
    media = stereo(8000)
    assert clip(media) is clip(media)
    assert made == [RATE]
    monkeypatch.setattr("mmeval.media.decode.memo.MAX_KEPT_BYTES", 1000)
    media = stereo(22050)
    assert clip(media) is not clip(media)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (heard(text="no sound"), "has 0 sounds"),
        (heard(tone(0.1), tone(0.2)), "has 2 sounds"),
        (
            heard(Media.from_bytes(b"RIFF\x40\0\0\0WAVE" + bytes(64), "a.wav")),
            "a.wav: ",
        ),
        (heard(written(np.zeros(0, np.float32), subtype="FLOAT")), "samples"),
        (
            heard(written(np.asarray([0.1, np.nan], np.float32), subtype="FLOAT")),
            "numbers",
        ),
    ],
    ids=["none", "two", "damaged", "0 seconds", "NaN"],
)
def test_an_answer_without_exactly_one_sound_is_wrong(
    answer: Trial, reason: str
) -> None:
    score = the_only_clip(answer)
    assert isinstance(score, Score) and score.value == 0
    assert reason in score.evidence["reason"]


def test_no_answer_and_a_sound_beyond_the_limits_are_unscored() -> None:
    long = wav(np.zeros(3601 * 100, np.float32), 100)
    for answer, reason in ((trial(None), "answer"), (heard(long), "max_audio_seconds")):
        score = the_only_clip(answer)
        assert (
            isinstance(score, Score)
            and score.status == "unscored"
            and reason in score.reason
        )
    beyond, damaged = decodable(long, "turn 3"), decodable(DAMAGED, "turn 3")
    assert (
        isinstance(beyond, Score)
        and beyond.status == "unscored"
        and beyond.reason.startswith("turn 3: ")
    )
    assert (
        isinstance(damaged, Score)
        and damaged.value == 0
        and damaged.evidence["reason"].startswith("turn 3: ")
    )
    assert decodable(DAMAGED).evidence["reason"].startswith("damaged.wav")  # type: ignore[union-attr]
