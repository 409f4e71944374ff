"""How long SSIM takes, as a ratio to scikit-image, and how far the two are apart.

    python benchmarks/ssim.py             # 1024 x 1024, colour: the figures of docs/performance.md
    python benchmarks/ssim.py 256 4096    # other sides

Both work on the same two pictures in one thread, in turns, after one call of each that is not counted; the ratio is
the median of the paired calls. Exit code 1 when a figure misses its goal.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_threads] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figure import Figure  # noqa: E402
from mmeval.metrics.image.ssim import ssim_of  # noqa: E402  found by the line above
from tests.support.pictures import by_scikit_image, noise  # noqa: E402

PAIRS = 15
GOAL, CLOSE = 0.75, 1e-6
"""Of the ratio, and of the difference."""


def figures(side: int) -> Iterator[Figure]:
    one, other = noise(side, side, 1), noise(side, side, 2)
    difference = abs(ssim_of(one, other) - by_scikit_image(one, other))
    pairs = [(seconds(lambda: ssim_of(one, other)), seconds(lambda: by_scikit_image(one, other))) for _ in range(PAIRS)]
    ours, theirs = (statistics.median(found) for found in zip(*pairs, strict=True))
    ratio = statistics.median(mine / yours for mine, yours in pairs)
    size = f"{side} x {side}"
    yield Figure(f"SSIM of {size} ({1000 * ours:.0f} ms) to scikit-image's ({1000 * theirs:.0f} ms)", ratio, GOAL)
    yield Figure(f"their difference at {size}", difference, CLOSE)


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main(argv: Sequence[str] | None = None, report: Callable[[str], None] = print) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sides", nargs="*", type=int, help="pixels a side (1024)")
    report("| figure | measured | goal | met |\n|---|---|---|---|")
    missed = 0
    for side in parser.parse_args(argv).sides or (1024,):
        for figure in figures(side):
            report(figure.row())
            missed += not figure.met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
