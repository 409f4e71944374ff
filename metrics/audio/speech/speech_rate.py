"""Speech rate: is the speech of the answer as fast or as slow as it should be?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from mmeval.media import Interleaved, Media
from mmeval.metric import HubModel, metric
from mmeval.metrics.audio.clips import MODEL_NEEDS, RATE, clip, the_only_decodable
from mmeval.metrics.audio.silence import TRIM_DB, trimmed
from mmeval.metrics.audio.speech.transcription import (
    PROCESSOR,
    WHISPER,
    WHISPER_NAME,
    transcripts_of,
)
from mmeval.metrics.audio.speech.wanted_level import (
    band_fault,
    share_of,
    wanted,
    wanted_fault,
)
from mmeval.metrics.models import bound
from mmeval.metrics.text.normalisers import speech
from mmeval.records import Sample, Score, Trial
from mmeval.system import AboveZero

TEXT = "source=text"
HEARING = HubModel(WHISPER.files, unless=TEXT)
SPELLING = HubModel(PROCESSOR.files, unless=TEXT)
COUNTED_BY_CHARACTER = ("chinese",)
"""Languages without blanks between words."""


def _sample_fault(sample: Sample, switches: Mapping[str, Any]) -> str:
    fault = wanted_fault(sample, switches["speed_key"])
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
    """How fast, or slow, the answer's speech is: words a minute, within a band.

    Range 0 to 1, higher is better. The label under ``speed_key`` is ``high`` or
    ``low``; a row without it asks for no rate, and any sound is 1. Asked for fast
    speech, the value is 0 at the lower end of the band and below it, 1 at the upper end
    and above, and grows linearly between; for slow speech it is the other way round.
    The words are those of Whisper's transcript, normalised as it normalises English and
    split at single blanks, so that an empty transcript counts as one word; of Chinese
    the characters are counted, blanks included. The minutes are those of the sound
    without the silence at both ends. An answer that has not exactly one sound, or one
    that is damaged, is 0, with the reason as evidence. Unscored without an
    answer, and with another label.

    Switches: with ``source`` as ``text``, the words are those of the answer's text and
    no model is asked; ``model``, ``processor`` and ``language`` are those of the metric
    ``transcript``; the four next ones are the ends of the bands; what lies ``top_db``
    decibels or more below the loudest frame is silent. Evidence: the rate, how much was
    counted, and the seconds.
    """
    sounds: list[Media | Score] = []
    heard: list[Media] = []
    words: list[str] = []
    for trial in trials:
        sound = the_only_decodable(trial)
        fault = wanted_fault(trial.sample, speed_key)
        if fault and isinstance(sound, Media):
            sound = Score.unscored(fault)
        sounds.append(sound)
        if isinstance(sound, Media):
            answer = trial.output or Interleaved()
            heard.append(sound)
            words.append(answer.words)
    if source == "text":
        texts = list(map(speech, words))
    else:
        texts = transcripts_of(heard, bound(model), bound(processor), language)
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
        asked = wanted(trial.sample, speed_key)
        value = 1.0 if asked is None else share_of(rate, asked, low, high)
        evidence = {"rate": rate, "counted": count, "seconds": seconds}
        scores.append(Score(value, evidence=evidence))
    return scores
