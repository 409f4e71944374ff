"""Sounds for tests of audio metrics: generated samples, answers that have them, and folders
of classes."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mmeval.media import Interleaved, Media, media_part, text_part, wav
from mmeval.records import Sample, Trial, user
from tests.support.trials import trial

# Sounds for tests of audio metrics: generated samples, and answers that have them.

RATE = 22050
Samples = np.ndarray[Any, np.dtype[np.float32]]


def times(seconds: float) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.arange(int(seconds * RATE)) / RATE


def tone(seconds: float, hertz: float = 440.0) -> Samples:
    return np.asarray(0.5 * np.sin(2 * np.pi * hertz * times(seconds)), np.float32)


def silence(seconds: float) -> Samples:
    return np.zeros(int(seconds * RATE), np.float32)


def alternating(*seconds: float) -> Samples:
    parts = [
        silence(s) if at % 2 else tone(s, 300 + 90 * at) for at, s in enumerate(seconds)
    ]
    return np.concatenate(parts)


def pulses(seconds: float, envelope: Sequence[float]) -> Samples:
    """Four strokes a second that die away, as loud as the envelope, which is spread
    over the whole length."""
    t = times(seconds)
    loudness = np.interp(t, np.linspace(0, seconds, len(envelope)), envelope)
    return np.asarray(
        0.6 * np.sin(2 * np.pi * 330.0 * t) * np.exp(-6.0 * (t % 0.25)) * loudness,
        np.float32,
    )


def voice(hertz: float, seconds: float = 2.0) -> Samples:
    """A buzz with eleven harmonics, which Praat takes for a voice."""
    t = times(seconds)
    wave = np.asarray(sum(np.sin(2 * np.pi * hertz * k * t) / k for k in range(1, 12)))
    return np.asarray(0.3 * wave / np.abs(wave).max(), np.float32)


def sine(hertz: float = 440.0, seconds: float = 1.0, level: float = 0.3) -> Samples:
    return (
        level * np.sin(2 * np.pi * hertz * np.arange(int(seconds * 48_000)) / 48_000)
    ).astype(np.float32)


def white(count: int = 48_000, level: float = 0.1) -> Samples:
    return (level * np.random.default_rng(0).standard_normal(count)).astype(np.float32)


def steps(*levels: tuple[float, int]) -> Samples:
    return np.concatenate(
        [
            np.tile(np.array([level, -level], np.float32), count // 2)
            for level, count in levels
        ]
    )


def heard(
    *sounds: Samples | Media, text: str = "", metadata: Mapping[str, Any] | None = None
) -> Trial:
    media = [
        sound if isinstance(sound, Media) else wav(sound, RATE) for sound in sounds
    ]
    parts = [
        *([text_part(text)] if text else []),
        *(media_part(one, "audio") for one in media),
    ]
    return trial(Interleaved(tuple(parts)), metadata=metadata)


def melody(seconds: float = 1.5) -> Samples:
    """Plucked chords, at 48 kHz."""
    t = np.arange(int(seconds * 48_000)) / 48_000
    roots = np.array([262, 330, 392, 349, 294, 440])[np.floor(t / 0.3).astype(int) % 6]
    tones = sum(
        np.sin(2 * np.pi * roots * ratio * t) / ratio for ratio in (1, 1.25, 1.5, 2, 3)
    )
    return np.asarray(0.25 * tones * np.exp(-5 * (t % 0.3)), np.float32)


# Tiny models of metrics that hear, and the folders and answers that tests give them.

DAMAGED = Media.from_bytes(
    b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(40), name="damaged.wav"
)
"""Begins as a sound does, and is none."""


def sound(samples: Samples) -> Media:
    return wav(samples, RATE)


def sounds(*samples: Samples | Media) -> Interleaved:
    media = [one if isinstance(one, Media) else sound(one) for one in samples]
    return Interleaved(tuple(media_part(one, "audio") for one in media))


def sound_trial(
    *answer: Samples | Media,
    given: Sequence[Samples | Media] = (),
    references: Sequence[Samples | Media] = (),
    **labels: Any,
) -> Trial:
    asked = (user("speak", *sounds(*given).parts),)
    return Trial(
        Sample("s", asked, tuple(sounds(one) for one in references), labels),
        output=sounds(*answer),
    )


def class_folder(
    folder: Path, clips: Mapping[str, Sequence[Samples]], *, table: str = ""
) -> Path:
    rows = []
    for name, samples in clips.items():
        for at, one in enumerate(samples):
            path = (
                folder / "audio" / f"{name}-{at}.wav"
                if table
                else folder / name / f"{at}.wav"
            )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(sound(one).read())
            rows.append({"filename": path.name, "fold": 1, "category": name})
    if table:
        (folder / table).parent.mkdir(parents=True, exist_ok=True)
        with (folder / table).open("w", newline="") as file:
            writer = csv.DictWriter(file, ["filename", "fold", "category"])
            writer.writeheader()
            writer.writerows(rows)
    return folder
