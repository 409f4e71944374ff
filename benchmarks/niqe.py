"""How long NIQE takes, as ratios to bare filtering with scipy, what it takes of memory, and what a second core brings.

    python benchmarks/niqe.py             # 512 x 512
    python benchmarks/niqe.py 256 1024    # other sides

The bare filtering is the blurs alone of a picture and of its square in both sizes, in two readings. The strict one is
the least that scipy can do: by the two halves of the window (``correlate1d``), of the part that NIQE looks at (480 x
480 of 512 x 512), in arrays that are there already. The plain one is by the window of 7 x 7 (``convolve``), of all
pixels. All work in one thread, in turns, after one call of each that is not counted; a ratio is the median of the
paired calls, by the time of the processor. Memory is what the process takes at its highest above what it takes with the
picture decoded. Exit code 1 when a figure misses its goal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy  # noqa: E402  in one thread, by the lines above
from scipy.ndimage import convolve, correlate1d  # noqa: E402

from benchmarks.figure import Figure  # noqa: E402
from mmeval.metrics.image.quality.niqe import niqe_of  # noqa: E402
from mmeval.metrics.image.quality.released_quality import released_quality  # noqa: E402
from mmeval.metrics.image.quality.scene_statistics import cropped, halved, luma, window  # noqa: E402
from tests.support.pictures import noise  # noqa: E402

PAIRS, ROUNDS = 25, 60
HALF_8K = (2160, 3840)
GOAL, MEMORY, CORES = 2.2, 200, 1.7
"""Of the ratio, of MiB above a picture of 4K, and of two processes on two cores."""


def ratios(side: int) -> Iterator[Figure]:
    pixels = noise(side, side)
    for name, bare in (("strictly", strictly(pixels)), ("plainly", plainly(pixels))):
        bare(), niqe_of(pixels)
        pairs = [(busy(lambda: niqe_of(pixels)), busy(bare)) for _ in range(PAIRS)]
        ours, theirs = (statistics.median(found) for found in zip(*pairs, strict=True))
        ratio = statistics.median(mine / yours for mine, yours in pairs)
        size = f"{side} x {side} ({1000 * ours:.1f} ms) to its blurs, {name} ({1000 * theirs:.1f} ms)"
        yield Figure(f"NIQE of {size}", ratio, GOAL)


def sizes(picture: Any) -> tuple[Any, Any]:
    return picture.astype(float), halved(picture)


def strictly(pixels: Any) -> Callable[[], None]:
    pictures = sizes(cropped(luma(pixels)))
    arrays = [[numpy.empty_like(picture) for _ in range(3)] for picture in pictures]

    def bare() -> None:
        for picture, (square, down, found) in zip(pictures, arrays, strict=True):
            numpy.multiply(picture, picture, out=square)
            for one in (picture, square):
                correlate1d(one, window(), axis=0, mode="nearest", output=down)
                correlate1d(down, window(), axis=1, mode="nearest", output=found)

    return bare


def plainly(pixels: Any) -> Callable[[], None]:
    pictures = sizes(luma(pixels))
    plane = window()[:, None] * window()

    def bare() -> None:
        for picture in pictures:
            for one in (picture, picture * picture):
                convolve(one, plane, mode="nearest")

    return bare


def memory() -> Iterator[Figure]:
    """Each in a process of its own: the highest of a process never falls."""
    for name in ("niqe", "released"):
        told = subprocess.run([sys.executable, __file__, "--apart", name], capture_output=True, text=True, check=True)
        yield Figure(f"MiB above a picture of 3840 x 2160, {name} ({told.stdout.split()[1]} s)", *_of(told.stdout))


def _of(told: str) -> tuple[float, float]:
    return float(told.split(maxsplit=1)[0]), MEMORY


def apart(name: str) -> str:
    pixels = noise(64, 64).repeat(-(-HALF_8K[0] // 64), 0)[: HALF_8K[0]].repeat(HALF_8K[1] // 64, 1)
    call: Callable[[Any], object] = niqe_of if name == "niqe" else released_quality
    call(pixels[:200, :200])
    before = highest()
    took = busy(lambda: call(pixels))
    return f"{highest() - before:.1f} {took:.2f}"


def highest() -> float:
    """MiB that this process has taken at its highest. Not what ``getrusage`` says, which starts with the highest of the
    process that started this one."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def two_cores() -> Figure:
    alone = statistics.median(_rounds(1) for _ in range(3))
    both = statistics.median(_rounds(2) for _ in range(3))
    return Figure("two processes to one, pictures a second", 2 * alone / both, CORES, at_least=True)


def _rounds(processes: int) -> float:
    """Seconds until so many processes, side by side, have looked at as many pictures each."""
    command = [sys.executable, __file__, "--apart", "rounds"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return max(float(process.communicate()[0]) for process in running)


def rounds() -> str:
    pixels = noise(512, 512)
    niqe_of(pixels)
    return f"{seconds(lambda: [niqe_of(pixels) for _ in range(ROUNDS)]):.4f}"


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def busy(call: Callable[[], object]) -> float:
    """Seconds of the processor: another process that takes its turn does not count."""
    started = time.process_time()
    call()
    return time.process_time() - started


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sides", nargs="*", type=int, help="pixels a side (512)")
    parser.add_argument("--apart", choices=("niqe", "released", "rounds"), help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.apart:
        report(rounds() if args.apart == "rounds" else apart(args.apart))
        return 0
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    missed = 0
    for figure in (*(figure for side in args.sides or (512,) for figure in ratios(side)), *memory(), two_cores()):
        report(figure.row())
        missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
