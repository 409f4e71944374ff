"""How long the quality of a sound takes, as a ratio to a plain implementation of the
same steps.

The plain implementation takes scipy's and numpy's functions one after the other, and
librosa's for the contrast, the chroma and the separation where librosa is installed;
where it is not, the plain side makes do with less: it has no chroma at all, which is to
its favour. Both work on the same recording in one thread.
"""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Figure, Fresh, busy, high_water, paired
from mmeval.content.encode import wav
from mmeval.content.media import Media
from mmeval.metrics.audio.quality.listening import heard_in
from mmeval.metrics.audio.quality.recording import RATE, recording

PAIRS = 7
RATIO, FIRST_CALL, TWO_CORES, LONG_MEMORY = 1.2, 2.0, 1.7, 512.0
"""Goals: the ratio, seconds of a first call with its imports, the speed of two
processes, MiB of ten minutes."""
LIBROSA = importlib.util.find_spec("librosa") is not None

Samples = np.ndarray[Any, np.dtype[np.float32]]


def music(seconds: float) -> Samples:
    """Plucked chords, which take every step."""
    t = np.arange(int(seconds * RATE)) / RATE
    roots = np.array([262, 330, 392, 349, 294, 440])[np.floor(t / 0.3).astype(int) % 6]
    tones = sum(
        np.sin(2 * np.pi * roots * ratio * t) / ratio for ratio in (1, 1.25, 1.5, 2, 3)
    )
    return np.asarray(0.25 * tones * np.exp(-5 * (t % 0.3)), np.float32)


def plain(samples: Samples) -> None:
    """The same steps with the functions that come to mind first."""
    from scipy import signal

    _, _, found = signal.stft(samples, RATE, "hann", 2048, 1536)
    amplitude = np.abs(found)
    np.exp(np.log(amplitude + 1e-12).mean(axis=0)) / (amplitude + 1e-12).mean(axis=0)
    (amplitude**2).mean(axis=1)
    _plain_features(samples, amplitude)
    for length, hop in ((960, 480), (960, 480), (960, 480), (2400, 1200)):
        _levels(samples, length, hop)
    _periodicity(samples)
    steps = np.abs(np.diff(np.convolve(np.abs(samples), np.full(480, 1 / 480), "same")))
    (steps > np.percentile(steps, 95)).mean()
    sections = np.array(
        [[1.5, -2.6, 1.2, 1.0, -1.7, 0.7], [1.0, -2.0, 1.0, 1.0, -1.99, 0.99]]
    )
    np.square(signal.sosfilt(sections, samples.astype(np.float64))).reshape(
        -1, RATE // 10
    ).sum(axis=1)


def _plain_features(samples: Samples, amplitude: Samples) -> None:
    if LIBROSA:
        librosa: Any = importlib.import_module("librosa")  # not installed as a rule
        librosa.feature.spectral_contrast(S=amplitude, sr=RATE)
        librosa.feature.chroma_cqt(y=samples, sr=RATE).var(axis=1)
        librosa.decompose.hpss(amplitude, margin=3.0)
        return
    from scipy.ndimage import median_filter

    for start, end in (
        (0, 8),
        (8, 17),
        (17, 34),
        (34, 68),
        (68, 136),
        (136, 273),
        (273, 1025),
    ):
        np.sort(amplitude[start:end], axis=0)
    for shape in ((31, 1), (1, 31)):
        np.square(
            amplitude / (median_filter(amplitude, size=shape, mode="reflect") + 1e-12)
        )


def _levels(samples: Samples, length: int, hop: int) -> list[float]:
    starts = range(0, len(samples) - length, hop)
    return [float(np.sqrt(np.mean(samples[at : at + length] ** 2))) for at in starts]


def _periodicity(samples: Samples) -> None:
    for at in range(0, len(samples) - 1440, 480):
        frame = samples[at : at + 1440] - samples[at : at + 1440].mean()
        np.correlate(frame, frame, "full")[1439 + 120 : 1439 + 961].max()


def figures(quick: bool) -> Iterator[Figure]:
    samples = recording(wav(music(10), RATE))
    whole = samples[: len(samples) // 4800 * 4800]
    found = paired(
        lambda: heard_in(samples, 3.0), lambda: plain(whole), 3 if quick else PAIRS
    )
    named = "librosa and scipy" if LIBROSA else "scipy, without chroma"
    yield Figure(f"ten seconds to plain {named}", found.ratio, RATIO, note=str(found))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [folder / "one.wav", folder / "other.wav"]
        for file in files:
            file.write_bytes(wav(music(10), RATE).read())
        (first,), _ = _scoring(files[0], 1).result()
        yield Figure("first call, imports included", first, FIRST_CALL, " s of CPU")
        calls = 8 if quick else 80
        alone = sum(_scoring(files[0], calls).result()[0])
        both = max(
            sum(each.result()[0]) for each in [_scoring(file, calls) for file in files]
        )
        speed = 2 * alone / both
        yield Figure(
            "two processes to one, files a second of the processor",
            speed,
            TWO_CORES,
            at_least=True,
        )
        if not quick:
            file = folder / "long.wav"
            file.write_bytes(wav(np.tile(music(30), 20), RATE).read())
            (took,), peak = _scoring(file, 1).result()
            yield Figure("ten minutes", peak, LONG_MEMORY, " MiB", note=f"{took:.1f} s")


def _scoring(file: Path, calls: int) -> Fresh:
    return Fresh("benchmarks.metrics.audio_quality:score", str(file), calls)


def score(file: str, calls: int) -> tuple[list[float], float]:
    """Seconds of the processor of each call, and the peak memory in MiB."""
    return [
        busy(lambda: heard_in(recording(Media.from_path(Path(file))), 3.0))
        for _ in range(calls)
    ], high_water()
