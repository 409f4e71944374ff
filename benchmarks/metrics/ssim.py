"""How long SSIM takes, as a ratio to scikit-image, and how far the two are apart.

Both work on the same two colour pictures in one thread.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measuring import Figure, paired
from mmeval.metrics.image.ssim import ssim_of
from tests.support.pictures import by_scikit_image, noise

PAIRS, SIDES = 15, (1024, 4096)
GOAL, CLOSE = 0.75, 1e-6
"""Of the ratio, and of the difference."""


def figures(quick: bool) -> Iterator[Figure]:
    for side in SIDES[: 1 if quick else None]:
        one, other = noise(side, side, 1), noise(side, side, 2)
        found = paired(
            lambda: ssim_of(one, other),  # noqa: B023
            lambda: by_scikit_image(one, other),  # noqa: B023
            3 if quick else PAIRS,
        )
        yield Figure(
            f"SSIM of {side} x {side} to scikit-image's",
            found.ratio,
            GOAL,
            note=str(found),
        )
        yield Figure(
            f"their difference at {side}",
            abs(ssim_of(one, other) - by_scikit_image(one, other)),
            CLOSE,
        )
