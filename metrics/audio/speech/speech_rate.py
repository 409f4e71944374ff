"""Speech rate: whether the answer's speech is as fast or slow as requested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from mmeval.media import Interleaved, Media
from mmeval.metric import HubModel, metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, RATE, clip, the_only_decodable
from mmeval.metrics.audio.silence import TRIM_DB, trimmed
from mmeval.metrics.audio.speech.requested_level import (
    band_fault,
    level_fault,
    requested_level,
    share_of,
)
from mmeval.metrics.audio.speech.transcription import (
    PROCESSOR,
    WHISPER,
    WHISPER_NAME,
    transcripts_of,
)
from mmeval.metrics.models import bound
from mmeval.metrics.text.normalisers import speech
from mmeval.records import Sample, Score, Trial
from mmeval.system import AboveZero

TEXT = "source=text"
HEARING = HubModel(WHISPER.files, unless=TEXT)
SPELLING = HubModel(PROCESSOR.files, unless=TEXT)
COUNTED_BY_CHARACTER = ("chinese",)
"""Languages without spaces between words."""


def _sample_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    fault = level_fault(sample, switches["speed_key"])
    return fault or band_fault(switches, "words", "characters")


@metric(
    range=(0, 1),
    version="3",
    source="MMMG, tasks Voice Attribution and Multi-Lingual Speech; official: audio "
    "evaluators 54527db8",
    needs=MODEL_NEEDS,
    check=_sample_fault,
    batch=8,
)
def speech_rate(
    trials: Sequence[Trial],
    *,
    speed_key: str = "speed",
    source: Literal["transcript", "text"] = "transcript",
    model: Annotated[str | Mapping[str, Any], HEARING] = WHISPER_NAME,
    processor: Annotated[str | Mapping[str, Any], SPELLING] = WHISPER_NAME,
    language: str = "english",
    words_low: float = 156.0,
    words_high: float = 180.0,
    characters_low: float = 232.0,
    characters_high: float = 272.0,
    top_db: AboveZero = TRIM_DB,
) -> list[Score]:
    """How fast or slow the answer's speech is within a band of words per minute.

    Range 0 to 1, higher is better. If the label is ``high``, the value is 0 up to the
    lower end of the band, 1 from the upper end on, and linear between. If it is
    ``low``, the value is reversed. If the row has no label, any sound scores 1. The
    words are those of Whisper's transcript, normalised as English and split at single
    spaces, so an empty transcript has one word. For Chinese, characters are counted,
    including spaces. The minutes are the length of the sound without silence at both
    ends. An answer scores 0, with the ``reason`` as evidence, unless it has exactly one
    sound that can be decoded. Unscored without an answer, and for any other label.

    Not measured: what is said.

    Labels, for example: ``{"speed": "low"}``.

    Switches:

    - ``speed_key``: the label.
    - ``source``: count the words of the ``transcript``, or of the answer's ``text``,
      which needs no model.
    - ``model``, ``processor``, ``language``: as in ``transcript``.
    - ``words_low``, ``words_high``: the ends of the band, in words per minute.
    - ``characters_low``, ``characters_high``: the ends of the band for Chinese, in
      characters per minute.
    - ``top_db``: a frame is silent if it is at least this number of decibels below the
      loudest frame.

    Evidence: the ``rate``, the number ``counted``, and the ``seconds``.
    """
    sounds: list[Media | Score] = []
    decodable_sounds: list[Media] = []
    words: list[str] = []
    for trial in trials:
        sound = the_only_decodable(trial)
        fault = level_fault(trial.sample, speed_key)
        if fault and isinstance(sound, Media):
            sound = Score.unscored(fault)
        sounds.append(sound)
        if isinstance(sound, Media):
            answer = trial.output or Interleaved()
            decodable_sounds.append(sound)
            words.append(answer.words)
    if source == "text":
        texts = list(map(speech, words))
    else:
        texts = transcripts_of(
            decodable_sounds, bound(model), bound(processor), language
        )
    scores: list[Score] = []
    for trial, sound in zip(trials, sounds, strict=True):
        if isinstance(sound, Score):
            scores.append(sound)
            continue
        text = texts.pop(0)
        if language in COUNTED_BY_CHARACTER:
            count, low, high = len(text), characters_low, characters_high
        else:
            count, low, high = len(text.split(" ")), words_low, words_high
        seconds = len(trimmed(clip(sound), top_db)) / RATE
        rate = count * 60.0 / seconds
        level = requested_level(trial.sample, speed_key)
        value = 1.0 if level is None else share_of(rate, level, low, high)
        evidence = {"rate": rate, "counted": count, "seconds": seconds}
        scores.append(Score(value, evidence=evidence))
    return scores
