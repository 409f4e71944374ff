"""How long NIQE takes, as ratios to bare filtering with scipy, what it takes of memory,
and what a second core brings.

The bare filtering is the blurs alone of a picture and of its square in both sizes, in
two readings. The strict one is the least that scipy can do: by the two halves of the
window (``gaussian_filter``), of the part that NIQE reads (480 x 480 of 512 x 512), in
arrays that are there already. The plain one is by the window of 7 x 7 (``convolve``),
of all pixels. Ratios are by the time of the processor, also that of two processes,
which share nothing: what a second one costs the first (memory, caches) shows there, and
another program that takes its turn does not. Memory is what the process takes at its
highest above what it takes with the picture decoded.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from scipy.ndimage import convolve, gaussian_filter

from benchmarks.measuring import Figure, Fresh, busy, high_water, paired
from mmeval.metrics.image.quality.niqe import niqe_of
from mmeval.metrics.image.quality.released_quality import released_quality
from mmeval.metrics.image.quality.scene_statistics import (
    REACH,
    SIGMA,
    cropped,
    halved,
    luma,
)
from tests.support.pictures import noise

PAIRS, ROUNDS = 25, 60
HALF_8K = (2160, 3840)
GOAL, MEMORY, CORES = 2.2, 200, 1.7
"""Of the ratio, of MiB above a picture of 4K, and of two processes on two cores."""


def figures(quick: bool) -> Iterator[Figure]:
    pixels = noise(512, 512)
    for name, bare in (("strict", strictly(pixels)), ("plain", plainly(pixels))):
        found = paired(lambda: niqe_of(pixels), bare, 3 if quick else PAIRS, busy)
        yield Figure(
            f"NIQE of 512 x 512 to its blurs, {name}",
            found.ratio,
            GOAL,
            note=str(found),
        )
    for name in ("niqe", "released"):
        mib, took = Fresh(
            "benchmarks.metrics.niqe:large", name
        ).result()  # the highest of a process never falls
        yield Figure(
            f"MiB above a picture of 3840 x 2160, {name}",
            mib,
            MEMORY,
            note=f"{took:.1f} s",
        )
    alone, both = (
        statistics.median(_rounds(count) for _ in range(1 if quick else 3))
        for count in (1, 2)
    )
    yield Figure(
        "two processes to one, pictures a second of the processor",
        2 * alone / both,
        CORES,
        at_least=True,
    )


def sizes(picture: Any) -> tuple[Any, Any]:
    return picture.astype(float), halved(picture)


def strictly(pixels: Any) -> Callable[[], None]:
    pictures = sizes(cropped(luma(pixels)))
    arrays = [[numpy.empty_like(picture) for _ in range(2)] for picture in pictures]

    def bare() -> None:
        for picture, (square, found) in zip(pictures, arrays, strict=True):
            numpy.multiply(picture, picture, out=square)
            for one in (picture, square):
                gaussian_filter(one, SIGMA, radius=REACH, mode="nearest", output=found)

    return bare


def plainly(pixels: Any) -> Callable[[], None]:
    pictures = sizes(luma(pixels))
    point = numpy.zeros((2 * REACH + 1,) * 2)
    point[REACH, REACH] = 1
    plane = gaussian_filter(point, SIGMA, radius=REACH, mode="constant")

    def bare() -> None:
        for picture in pictures:
            for one in (picture, picture * picture):
                convolve(one, plane, mode="nearest")

    return bare


def large(name: str) -> tuple[float, float]:
    """MiB and seconds that a picture of 4K takes."""
    pixels = (
        noise(64, 64)
        .repeat(-(-HALF_8K[0] // 64), 0)[: HALF_8K[0]]
        .repeat(HALF_8K[1] // 64, 1)
    )
    call: Callable[[Any], object] = niqe_of if name == "niqe" else released_quality
    call(pixels[:200, :200])
    before = high_water()
    took = busy(lambda: call(pixels))
    return high_water() - before, took


def _rounds(processes: int) -> float:
    """Seconds of the processor that each of so many processes, side by side, takes for
    as many pictures."""
    running = [Fresh("benchmarks.metrics.niqe:rounds") for _ in range(processes)]
    return max(float(process.result()) for process in running)


def rounds() -> float:
    pixels = noise(512, 512)
    niqe_of(pixels)
    return busy(lambda: [niqe_of(pixels) for _ in range(ROUNDS)])
