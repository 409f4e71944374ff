"""How fast the pitch of a voice is found, beside librosa's pyin on the same clips in the same minute.

    pip install librosa
    python benchmarks/pitch.py

Clips of two and of ten seconds, one thread, in turns; a ratio is the median of the paired runs. pyin has the same step
and the same lowest and highest pitch; what it compiles on its first call is left out of the ratio. The first call of
ours, in a fresh process, has its imports in it. Exit code 1 when a figure misses its goal.
"""

from __future__ import annotations

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import importlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from mmeval.metrics.audio.speech.pitch import CEILING, FLOOR, STEP, pitch_of  # noqa: E402  found by the line above
from tests.support.sounds import RATE, Samples, voice  # noqa: E402

GOAL, FIRST_GOAL = 0.3, 2.0
PAIRS = 7
FIRST = """
import time
from tests.support.sounds import heard, voice
trial = heard(voice(110), metadata={"pitch": "low"})
started = time.perf_counter()
from mmeval.metrics.audio.speech.pitch_band import pitch_band
scores = pitch_band.bind({"gender": "male"}).score(trial)
assert scores["pitch_band"].value
print(time.perf_counter() - started)
"""


def main() -> int:
    """Print the table; 1 when a figure misses its goal."""
    try:
        librosa: Any = importlib.import_module("librosa")  # no dependency of ours, and without types here
    except ModuleNotFoundError:
        print("librosa is not installed, which this is measured against; run: pip install librosa", file=sys.stderr)
        return 4

    def pyin(clip: Samples) -> object:
        return librosa.pyin(clip, fmin=FLOOR, fmax=CEILING, sr=RATE, hop_length=STEP)

    print("| figure | measured | goal | met |\n|---|---|---|---|")
    met = [_row(f"time against pyin, {s:g} s", _ratio(voice(130, s), pyin), GOAL, " times") for s in (2.0, 10.0)]
    met.append(_row("first call", _first(), FIRST_GOAL, " s"))
    return 0 if all(met) else 1


def _ratio(clip: Samples, other: Callable[[Samples], object]) -> float:
    other(clip)
    pitch_of(clip)
    return statistics.median(_took(lambda: pitch_of(clip)) / _took(lambda: other(clip)) for _ in range(PAIRS))


def _took(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _first() -> float:
    done = subprocess.run([sys.executable, "-c", FIRST], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _row(name: str, value: float, goal: float, unit: str) -> bool:
    met = value <= goal
    print(f"| {name} | {value:.3f}{unit} | ≤ {goal:g}{unit} | {'yes' if met else 'NO'} |", flush=True)
    return met


if __name__ == "__main__":
    raise SystemExit(main())
