from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from mmeval.content.encode import wav
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, media_part
from mmeval.decode import DecodeLimits
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.metrics.audio import clips
from mmeval.metrics.audio.clips import RATE, clip, resampled, sounds_of, the_only_clip
from mmeval.records.score import Score
from mmeval.records.trial import Trial
from tests.support.sounds import Samples, heard, silence, tone
from tests.support.tiny_media import picture
from tests.support.trials import trial

LOADED_BY_LIBROSA = {
    8000: (2205, [-0.4433346092700958, -0.0850757360458374, 0.32722386717796326, -0.01786142960190773], 356.4590759),
    22050: (800, [-0.488525390625, 0.17578125, -0.137451171875, -0.180419921875], 129.9738770),
    44100: (400, [-0.209104523062706, 0.05814221501350403, -0.129037007689476, -0.15432803332805634], 48.2203064),
    48000: (368, [-0.16729141771793365, 0.10061761736869812, -0.047189824283123016, 0.0], 44.0010185),
}
"""By the rate of the file: how many samples ``librosa.load`` (0.11) gives, four of them, and the sum of all amounts."""


def stereo(rate: int) -> Media:
    """800 frames of steady hiss, another one in each channel."""
    n = np.arange(800)
    frames = np.stack([n * 7919 % 2001 - 1000, n * 104729 % 2003 - 1001], axis=1).astype(np.int16) * 16
    file = io.BytesIO()
    soundfile.write(file, frames, rate, format="WAV", subtype="PCM_16")
    return Media.from_bytes(file.getvalue())


def float_wav(samples: Samples) -> Media:
    file = io.BytesIO()
    soundfile.write(file, samples, RATE, format="WAV", subtype="FLOAT")
    return Media.from_bytes(file.getvalue())


@pytest.mark.parametrize("rate", LOADED_BY_LIBROSA)
def test_a_clip_is_what_librosa_loads(rate: int) -> None:
    count, some, total = LOADED_BY_LIBROSA[rate]

    samples = clip(stereo(rate))

    assert (samples.dtype, samples.shape) == (np.float32, (count,))
    assert samples[[0, 100, 200, -1]] == pytest.approx(some, abs=1e-6)
    assert np.abs(samples).sum() == pytest.approx(total, rel=1e-6)


def test_a_clip_is_decoded_once_for_each_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(samples: Samples, rate: int, wanted: int) -> Samples:
        made.append(wanted)
        return resampled(samples, rate, wanted)

    monkeypatch.setattr(clips, "resampled", counted)
    media = stereo(8000)

    assert clip(media) is clip(media)
    assert len(clip(media, 16000)) == 1600
    assert made == [RATE, 16000]


def test_a_clip_cannot_be_changed_by_the_metric_that_hears_it_first() -> None:
    with pytest.raises(ValueError, match="read-only"):
        clip(stereo(22050))[0] = 0


def test_a_clip_that_is_too_long_to_be_kept_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.decode.memo.MAX_KEPT_BYTES", 1000)
    media = stereo(22050)

    assert clip(media) is not clip(media)


def test_twenty_minutes_are_heard_and_more_than_the_limit_is_not() -> None:
    long = wav(np.zeros(20 * 60 * 8000, np.float32), 8000)

    assert len(clip(long)) == 20 * 60 * RATE
    with pytest.raises(MediaLimitError, match="max_audio_seconds = 60"):
        clip(long, limits=DecodeLimits(max_audio_seconds=60))


@pytest.mark.parametrize(("count", "rate", "length"), [(1, 48000, 1), (3, 44100, 2), (1, 8000, 3), (7, 22050, 7)])
def test_the_length_at_another_rate_is_rounded_up(count: int, rate: int, length: int) -> None:
    assert len(resampled(np.ones(count, np.float32), rate, RATE)) == length


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (heard(text="no sound"), "the answer has 0 sounds, not exactly one"),
        (heard(tone(0.1), tone(0.2)), "the answer has 2 sounds, not exactly one"),
        (trial(Interleaved((media_part(Media.from_bytes(picture())),))), "the answer has 0 sounds, not exactly one"),
        (heard(Media.from_bytes(picture(), "a.png")), "a.png: it is image/png, which holds no sound"),
        (heard(Media.from_bytes(b"RIFF\x40\0\0\0WAVE" + bytes(64), "a.wav")), "a.wav: it cannot be decoded as sound"),
        (heard(Media.from_bytes(b"", "a.wav")), "a.wav: it is empty (0 bytes)"),
        (heard(float_wav(np.zeros(0, np.float32))), "it holds no samples"),
        (heard(float_wav(np.asarray([0.1, np.nan], np.float32))), "some of its samples are not numbers"),
    ],
    ids=["none", "two", "a picture", "a picture as sound", "damaged", "no bytes", "0 seconds", "NaN"],
)
def test_an_answer_without_exactly_one_sound_is_wrong(answer: Trial, reason: str) -> None:
    score = the_only_clip(answer)

    assert isinstance(score, Score)
    assert score.value == 0
    assert reason in score.evidence["reason"]


def test_without_an_answer_there_is_nothing_to_score() -> None:
    score = the_only_clip(trial(None))

    assert isinstance(score, Score)
    assert (score.value, score.status) == (None, "unscored")


def test_a_sound_beyond_the_limits_is_unscored_since_it_was_not_decoded() -> None:
    score = the_only_clip(heard(wav(np.zeros(3601 * 100, np.float32), 100)))

    assert isinstance(score, Score)
    assert (score.value, "max_audio_seconds" in score.reason) == (None, True)


def test_a_sound_whose_file_was_changed_since_is_no_fault_of_the_answer(tmp_path: Path) -> None:
    file = tmp_path / "a.wav"
    file.write_bytes(wav(tone(0.1), RATE).read())
    recorded = Media.from_json(Media.from_path(file).to_json(), tmp_path)
    file.write_bytes(bytes(100))

    with pytest.raises(CorruptMediaError, match="has changed since it was recorded"):
        the_only_clip(heard(recorded))


def test_a_sound_that_the_text_names_twice_is_one_sound() -> None:
    answer = Interleaved.from_reply("<<audio1>> and again <<audio1>>", [wav(silence(0.1), RATE)])

    assert len(sounds_of(answer)) == 1
