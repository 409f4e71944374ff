"""How long the quality of a sound takes, as a ratio to a plain implementation of the same steps.

    python benchmarks/audio_quality.py            # ten seconds of music, its ratio, the first call, two cores
    python benchmarks/audio_quality.py --long     # besides, ten minutes: time and memory

The plain implementation takes scipy's and numpy's functions one after the other, and librosa's for the contrast, the
chroma and the separation where librosa is installed; where it is not, the plain side makes do with less: it has no
chroma at all, which is to its favour. Both work on the same recording in one thread, in turns, after one call of each
that is not counted; the ratio is the median of the paired calls. Exit code 1 when a figure misses its goal.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402  after the number of threads is set

from benchmarks.figure import Figure  # noqa: E402
from mmeval.content.encode import wav  # noqa: E402  found by the line above
from mmeval.content.media import Media  # noqa: E402
from mmeval.metrics.audio.quality.listening import heard_in  # noqa: E402
from mmeval.metrics.audio.quality.recording import RATE, recording  # noqa: E402

PAIRS = 7
RATIO, FIRST_CALL, TWO_CORES, LONG_MEMORY = 1.2, 2.0, 1.7, 512.0
"""Goals: the ratio, seconds of a first call with its imports, the speed of two processes, MiB of ten minutes."""
LIBROSA = importlib.util.find_spec("librosa") is not None

Samples = np.ndarray[Any, np.dtype[np.float32]]


def music(seconds: float) -> Samples:
    """Plucked chords, which take every step."""
    t = np.arange(int(seconds * RATE)) / RATE
    roots = np.array([262, 330, 392, 349, 294, 440])[np.floor(t / 0.3).astype(int) % 6]
    tones = sum(np.sin(2 * np.pi * roots * ratio * t) / ratio for ratio in (1, 1.25, 1.5, 2, 3))
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
    sections = np.array([[1.5, -2.6, 1.2, 1.0, -1.7, 0.7], [1.0, -2.0, 1.0, 1.0, -1.99, 0.99]])
    np.square(signal.sosfilt(sections, samples.astype(np.float64))).reshape(-1, RATE // 10).sum(axis=1)


def _plain_features(samples: Samples, amplitude: Samples) -> None:
    if LIBROSA:
        librosa: Any = importlib.import_module("librosa")  # not installed as a rule
        librosa.feature.spectral_contrast(S=amplitude, sr=RATE)
        librosa.feature.chroma_cqt(y=samples, sr=RATE).var(axis=1)
        librosa.decompose.hpss(amplitude, margin=3.0)
        return
    from scipy.ndimage import median_filter

    for start, end in ((0, 8), (8, 17), (17, 34), (34, 68), (68, 136), (136, 273), (273, 1025)):
        np.sort(amplitude[start:end], axis=0)
    for shape in ((31, 1), (1, 31)):
        np.square(amplitude / (median_filter(amplitude, size=shape, mode="reflect") + 1e-12))


def _levels(samples: Samples, length: int, hop: int) -> list[float]:
    starts = range(0, len(samples) - length, hop)
    return [float(np.sqrt(np.mean(samples[at : at + length] ** 2))) for at in starts]


def _periodicity(samples: Samples) -> None:
    for at in range(0, len(samples) - 1440, 480):
        frame = samples[at : at + 1440] - samples[at : at + 1440].mean()
        np.correlate(frame, frame, "full")[1439 + 120 : 1439 + 961].max()


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def ratio() -> Figure:
    samples = recording(wav(music(10), RATE))
    ours, theirs = (lambda: heard_in(samples, 3.0)), (lambda: plain(samples[: len(samples) // 4800 * 4800]))
    seconds(ours), seconds(theirs)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(PAIRS)]
    mine, yours = (statistics.median(found) for found in zip(*pairs, strict=True))
    named = "librosa and scipy" if LIBROSA else "scipy, without chroma"
    name = f"ten seconds ({1000 * mine:.0f} ms) to plain {named} ({1000 * yours:.0f} ms)"
    return Figure(name, statistics.median(one / other for one, other in pairs), RATIO)


def scoring(files: Sequence[Path], calls: int) -> subprocess.Popen[str]:
    """A process of its own that scores files; it prints the seconds of each call and its peak memory in MiB."""
    command = [sys.executable, __file__, "--score", str(calls), *map(str, files)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def score(files: Sequence[Path], calls: int) -> None:
    for file in files:
        for _ in range(calls):
            started = time.perf_counter()
            heard_in(recording(Media.from_path(file)), 3.0)
            print(time.perf_counter() - started)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def processes(folder: Path, *, long: bool) -> Iterator[Figure]:
    """Figures of fresh processes: the first call, two at a time, and ten minutes."""
    files = [folder / "one.wav", folder / "other.wav"]
    for file in files:
        file.write_bytes(wav(music(10), RATE).read())
    first = float(scoring(files[:1], 1).communicate()[0].split()[0])
    yield Figure("seconds of a first call, imports of it included", first, FIRST_CALL)
    calls = 80
    alone = seconds(lambda: scoring(files[:1], 2 * calls).communicate())
    together = seconds(lambda: [each.communicate() for each in [scoring([file], calls) for file in files]])
    yield Figure("speed of two processes, each with half of the files", alone / together, TWO_CORES, at_least=True)
    if long:
        file = folder / "long.wav"
        file.write_bytes(wav(np.tile(music(30), 20), RATE).read())
        took, peak = map(float, scoring([file], 1).communicate()[0].split())
        yield Figure(f"MiB of ten minutes, which take {took:.1f} s", peak, LONG_MEMORY)


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="besides, ten minutes of sound")
    parser.add_argument("--score", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.score:
        score([Path(file) for file in args.score[1:]], int(args.score[0]))
        return 0
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        figures = [ratio()]
        report(figures[0].row())
        for figure in processes(Path(folder), long=args.long):
            report(figure.row())
            figures.append(figure)
    return 0 if all(figure.met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
