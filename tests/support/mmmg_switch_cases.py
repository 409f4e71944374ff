"""Values of switches of MMMG's metrics that make a difference to some answer, with such answers.

An effect is a value of a switch; it must change the score, the evidence or the questions of one of its answers. Where a
switch matters only beside others, these are set on both sides.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from mmeval.metrics.audio.clap import CLAP
from mmeval.metrics.audio.music.beats import BEAT_THIS
from mmeval.metrics.audio.music.tempo import tempo
from mmeval.metrics.audio.speech.transcription import PROCESSOR, WHISPER
from mmeval.metrics.audio.speech.voices import VOICE
from mmeval.records import Trial
from tests.support.hearing import sound_trial, tiny
from tests.support.picture_judging import BLUE, RED, trial_of
from tests.support.sounds import alternating, heard, pulses, tone, voice
from tests.support.trials import score_of


class Effect(NamedTuple):
    """``switch`` set to ``value`` makes a difference to one of the ``answers``, beside the switches ``beside``. A judge
    says ``says``."""

    metric: str
    switch: str
    value: Any
    answers: Sequence[Trial]
    beside: Mapping[str, Any] = {}
    says: Any = ""


def of_sounds() -> Iterator[Effect]:
    yield from _of_intensity()
    pauses = [heard(alternating(1.5, pause, 1.5)) for pause in (0.9, 1.0, 1.1, 1.2, 1.3, 2.0)]
    faint = [heard(np.concatenate([tone(1.0), tone(1.5) * np.float32(loud), tone(1.0)])) for loud in (0.0098, 0.0102)]
    for switch, values in {"segments": (1, 3), "gap": (0.8, 1.2), "frame": (1024, 4096), "hop": (256, 1024)}.items():
        yield from (Effect("silence_segments", switch, value, pauses) for value in values)
    yield from (Effect("silence_segments", "top_db", value, faint) for value in (39.7, 40.3))
    yield from _of_voices()


RISING = (0.02, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1, 1, 1)


def _of_intensity() -> Iterator[Effect]:
    labels = {"intensity": ["start", "fade in"], "other": ["start", "fade out"]}
    steep = [heard(pulses(10, RISING), metadata=labels)]
    short = [heard(pulses(1.9, RISING[:5]), metadata={"intensity": ["end", "fade in"]})]
    faint = [np.concatenate([tone(1.0) * np.float32(loud), pulses(10, RISING)]) for loud in (3e-4, 9e-4, 1.2e-3)]
    within = [heard(one, metadata=labels) for one in faint]
    spaced = [heard(_strokes(*at), metadata=labels) for at in ((3, 40), (4, 60), (5, 50), (6, 40), (7, 50))]
    yield Effect("intensity", "intensity_key", "other", steep)
    yield from (Effect("intensity", "steepness", value, steep) for value in (0.207, 0.25))
    yield from (Effect("intensity", "error", value, steep) for value in (0.036, 0.03))
    yield from (Effect("intensity", "seconds", value, steep) for value in (3, 5))
    yield from (Effect("intensity", "distance", value, steep) for value in (12, 20))
    yield from (Effect("intensity", "margin", value, spaced) for value in (6, 7))
    yield from (Effect("intensity", "top_db", value, within) for value in (50.0, 62.0))
    yield from (Effect("intensity", "frame", value, steep) for value in (1024, 4096))
    yield from (Effect("intensity", "hop", value, steep) for value in (256, 1024))
    yield Effect("intensity", "short_end", "whole", short)


def _strokes(*frames: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Short strokes in a soft tone, at these frames of 512 samples, each louder than the one before."""
    samples = tone(9.0) * np.float32(0.2)
    for number, frame in enumerate(frames):
        at = frame * 512
        samples[at - 256 : at + 256] *= np.float32(3.0 + number / 2)
    return samples


def _of_tempo() -> Iterator[Effect]:
    """The tiny model hears some tempo; what is wanted lies nearly five beats a minute off it, or a little more."""
    beats: dict[str, Any] = {"model": tiny("beat_this", BEAT_THIS)}
    clips = [np.concatenate([tone(1.0) * np.float32(loud), pulses(6, (1, 1))]) for loud in (4e-4, 1e-3)]
    heard_of = [score_of(tempo, sound_trial(clip, tempo=100), **beats).evidence["bpm"] for clip in clips]
    music = [
        sound_trial(clip, tempo=bpm + off, other=bpm)
        for clip, bpm in zip(clips, heard_of, strict=True)
        for off in (4.9, 5.1)
    ]
    yield Effect("tempo", "tempo_key", "other", music, beats)
    yield from (Effect("tempo", "tolerance", value, music, beats) for value in (4.8, 5.2))
    yield from (Effect("tempo", "top_db", value, music, beats) for value in (57.0, 63.0))


def _of_voices() -> Iterator[Effect]:
    yield from _of_tempo()
    men = {"gender": "male"}
    labels = {"pitch": "high", "other": "low"}
    low = [heard(voice(115), metadata=labels), heard(voice(84), metadata=labels), heard(voice(590), metadata=labels)]
    high = [heard(voice(190), metadata=labels)]
    glide = [voice(hertz, 0.3) * np.float32(loud) for hertz, loud in ((95, 0.4), (118, 1), (121, 0.9), (240, 0.8))]
    varied = [*low, *(heard(one, metadata=labels) for one in (np.concatenate(glide), voice(640)))]
    for switch, values in {"male_low": (139.0, 141.0), "male_high": (181.0, 183.0)}.items():
        yield from (Effect("pitch_band", switch, value, low, men) for value in values)
    for switch, values in {"female_low": (235.0, 237.0), "female_high": (277.0, 279.0)}.items():
        yield from (Effect("pitch_band", switch, value, high, {"gender": "female"}) for value in values)
    yield Effect("pitch_band", "pitch_key", "other", low, men)
    for switch, numbers in {
        "floor": (75.0, 90.0),
        "ceiling": (500.0, 700.0),
        "intensity_floor": (70.0, 100.0),
        "step": (128, 512),
        "edges": (50, 99),
    }.items():
        yield from (Effect("pitch_band", switch, value, varied, men) for value in numbers)
    ears = {"model": tiny("wav2vec2_gender", VOICE)}
    turning = [heard(np.concatenate([voice(hertz, 2.0) for hertz in (110, 230, 110, 320)]), metadata=labels)]
    yield Effect("pitch_band", "male_class", 0, turning, ears)
    yield from (Effect("pitch_band", "gender", value, low + high, ears) for value in ("male", "female"))
    yield from _of_rates()
    cosines = [sound_trial(tone(1.0), references=[voice(hertz) for hertz in range(90, 210, 10)])]
    yield from (
        Effect("clap_similarity", "nearest", value, cosines, {"model": tiny("clap", CLAP)}) for value in (9, 11)
    )


def _of_rates() -> Iterator[Effect]:
    text, chinese = {"source": "text"}, {"source": "text", "language": "chinese"}
    labels = {"speed": "high", "other": "low"}
    fast = [heard(tone(5), text=" ".join(["lake"] * 14), metadata=labels)]
    signs = [heard(tone(5), text="湖" * 21, metadata=labels)]
    faint = [np.concatenate([tone(4), tone(1.0) * np.float32(loud)]) for loud in (0.0009, 0.0011)]
    soft = [heard(one, text="lake", metadata=labels) for one in faint]
    yield Effect(
        "speech_rate", "speed_key", "other", [heard(tone(5), text=" ".join(["lake"] * 13), metadata=labels)], text
    )
    yield Effect("speech_rate", "language", "chinese", fast, text)
    for switch, numbers in {"words_low": (155.0, 157.0), "words_high": (179.0, 181.0)}.items():
        yield from (Effect("speech_rate", switch, value, fast, text) for value in numbers)
    for switch, numbers in {"characters_low": (231.0, 233.0), "characters_high": (271.0, 273.0)}.items():
        yield from (Effect("speech_rate", switch, value, signs, chinese) for value in numbers)
    yield from (Effect("speech_rate", "top_db", value, soft, text) for value in (58.0, 62.0))
    ears = {"model": tiny("whisper", WHISPER), "processor": tiny("whisper", PROCESSOR)}
    yield Effect("speech_rate", "source", "text", fast, ears)


def of_text() -> Iterator[Effect]:
    said = trial_of(
        "a <image_start><image_0><image_end><image_start><image_1><image_end>", RED, order=["ti"], other=["i"]
    )
    yield Effect("part_order", "order_key", "other", [said])
    yield Effect("part_order", "orders", ["tii"], [said])
    yield Effect("part_order", "dangling", False, [said])
    yield Effect(
        "part_order", "reading", "official_text", [trial_of(" <image_start><image_0><image_end>", RED, order=["i"])]
    )
    shown = "<image_start><image_0><image_end>"
    five, ten = (trial_of(f"{shown}<text>{' '.join('w' * count)}</text>", RED) for count in (5, 10))
    colored = trial_of(f'{shown}{{"cup": "red"}}', RED, object=["cup"], color=["red"], other=["rug"])
    yield Effect("self_description", "kind", "pattern", [five], {"kind": "text"})
    yield Effect("self_description", "least", 6, [five], {"kind": "text"})
    yield Effect("self_description", "most", 9, [ten], {"kind": "text"})
    yield Effect("self_description", "object_key", "other", [colored], {"kind": "colors"})
    yield Effect("self_description", "color_key", "other", [colored], {"kind": "colors"})
    yield Effect("self_description", "letters", "ab", [trial_of(f'{shown}["a", "c"]', RED)], {"kind": "letters"})
    many = trial_of(f"{shown}<text>a b c d e</text><image_start><image_1><image_end>", RED, BLUE)
    yield Effect("self_description", "many", True, [many], {"kind": "words"})
    yield Effect(
        "self_description", "statements", "official", [trial_of(f"{shown}<count>14</count>", RED)], {"kind": "count"}
    )
