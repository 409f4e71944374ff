from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mmeval.media import Media, wav
from mmeval.metric import bind, loaded
from mmeval.metrics.audio.speech import transcription
from mmeval.metrics.audio.speech.transcription import (
    PROCESSOR,
    WHISPER,
    transcript,
    transcripts,
    transcripts_of,
)
from tests.support.models import tiny
from tests.support.sounds import Samples, silence, sound, sound_trial, tone
from tests.support.trials import score_of, scored_together

SAID = {1: " Lakes, are; deep!", 2: "你好， 世界。", 3: ""}
"""What is written of a clip, by its seconds."""
CHINESE = {"language": "chinese", "unit": "character"}
CLIPS = [tone(2, 900), silence(1), tone(0)]


@pytest.fixture(scope="module")
def whisper() -> dict[str, Any]:
    return {"model": tiny("whisper", WHISPER), "processor": tiny("whisper", PROCESSOR)}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A stand-in for Whisper. Returns the languages that it is asked for."""
    languages: list[str] = []

    def write(
        clips: Sequence[Samples], model: Any, processor: Any, language: str
    ) -> list[str]:
        languages.append(language)
        return [SAID[round(len(clip) / 16000)] for clip in clips]

    monkeypatch.setattr(transcription, "_written", write)
    return languages


def test_both_sides_are_normalised(written: list[str]) -> None:
    values: list[tuple[str, dict[str, Any], float]] = [
        ("lakes are deep", {}, 1),
        ("lakes are wide", {}, 2 / 3),
    ]
    values += [
        ("lakes are deer", {"unit": "character"}, 1 - 1 / 12),
        ("lakes", {"text_key": "words"}, 1),
    ]
    for text, switches, value in values:
        asked = sound_trial(tone(1), text=text, words="lakes are deep")
        assert score_of(transcript, asked, **switches).value == pytest.approx(value)
    # nothing understood has every word wrong
    nothing = sound_trial(tone(3), text="one two")
    assert score_of(transcript, nothing).value == 0
    chinese = sound_trial(tone(2), text="你好，世界。")
    both = [
        score_of(transcript, chinese, profile, **CHINESE).value
        for profile in ("standard", "official")
    ]
    assert both == pytest.approx([1, 1 - 1 / 4])  # officially its blanks are errors
    assert written == ["english"] * 5 + ["chinese"]  # once for each language


def test_a_sound_beyond_the_limits_or_with_a_wanted_text_of_no_words_is_unscored(
    written: list[str],
) -> None:
    endless = Media.from_bytes(wav(np.zeros(3601 * 100, np.float32), 100).read())
    one, beyond = scored_together(
        transcript, [sound_trial(s, text="lakes are deep") for s in (tone(1), endless)]
    )
    assert one.value == 1
    assert beyond.status == "unscored"
    assert "max_audio_seconds" in beyond.reason
    assert len(written) == 1
    assert score_of(transcript, sound_trial(tone(1), text="!")).reason.startswith(
        "undefined"
    )


@pytest.mark.usefixtures("written")
def test_a_row_without_a_wanted_text_is_found_before_the_run() -> None:
    asked = sound_trial(tone(1))
    fault = bind(transcript).sample_fault(asked.sample)
    assert fault
    assert score_of(transcript, asked).reason == fault


def test_what_lasts_longer_than_half_a_minute_is_transcribed_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together: list[int] = []

    def write(clips: Sequence[Samples], *_: Any) -> list[str]:
        together.append(len(clips))
        return [str(round(len(clip) / 16000)) for clip in clips]

    monkeypatch.setattr(transcription, "_written", write)
    assert transcripts([silence(s) for s in (12, 31, 30)], {}, {}) == ["12", "31", "30"]
    assert together == [2, 1]


def test_whisper_writes_the_same_for_the_same_clip_in_the_language_that_is_forced(
    whisper: dict[str, Any],
) -> None:
    together = transcripts(CLIPS, **whisper)
    assert together == [transcripts([clip], **whisper)[0] for clip in CLIPS]
    assert len(set(together)) > 2
    assert together[2] == "", "a clip without samples has no words"
    chinese = transcripts(CLIPS[:1], **whisper, language="chinese")
    assert chinese != together[:1]
    with pytest.raises(ValueError, match="klingon"):
        transcripts([tone(2)], **whisper, language="klingon")


def test_the_end_of_a_long_clip_is_transcribed_too(
    whisper: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    long: list[bool] = []
    network = loaded(whisper["model"], transcription._network)
    generate = network.generate

    def watched(features: Any, **given: Any) -> Any:
        assert given["task"] == "transcribe"
        long.append(features.shape[-1] > 3000)
        return generate(features, **given)

    monkeypatch.setattr(network, "generate", watched)
    transcripts([tone(20), tone(50)], **whisper)
    assert long == [False, True]


def test_a_sound_is_transcribed_once(
    whisper: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def counted(clips: Sequence[Samples], *rest: Any) -> list[str]:
        asked.append(len(clips))
        return ["x"] * len(clips)

    monkeypatch.setattr(transcription, "transcripts", counted)
    media = [sound(tone(1)), sound(tone(2))]
    transcripts_of(media[:1], **whisper)
    transcripts_of(media, **whisper)
    transcripts_of(media, **whisper, language="chinese")
    assert asked == [1, 1, 2]
