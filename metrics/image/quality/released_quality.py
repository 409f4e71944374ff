"""The stand-ins for BRISQUE and NIQE of UniM's released scorer of pictures.

Neither is what its name says: no model is trained or fitted, and all pictures get
between 86 and 94 of 100, even noise and blank ones. They serve to reproduce the
released numbers (profile ``official``), by OpenCV as the script does: in areas that are
uniform or rise evenly they measure only the rounding errors of its blur, which its
version decides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.metrics.image.quality.aggd import FIRST, LAST, STEP
from mmeval.system import need

if TYPE_CHECKING:
    from mmeval.metrics.image.pictures import Pixels
    from mmeval.metrics.image.quality.aggd import Numbers

STRIP = 2**16
"""Pixels that are processed in one step, to bound the memory."""
WINDOW = 7
"""Pixels of the side of a Gaussian window."""
SIGMA = 1.16
"""The deviation of the window of the stand-in for BRISQUE."""
SHIFTS = ((0, 1), (1, 0), (1, 1), (-1, 1))
"""From a pixel to its neighbour: rows down, columns to the right; the picture wraps
around."""
NOTHING = (1.0, 0.1)
"""Shape and spread of no values, and of values that are all zero."""
WORST_BRISQUE, PER_FEATURE = 100.0, 20.0
DEVIATION = 1.0
"""The least that a difference is divided by; a smaller deviation counts as this."""
PATCH, STRIDE, MOST_PATCHES = 96, 48, 100
NIQE_SIGMA = 1.5
QUARTILES = (25, 75)
FLAT = 0.5
"""The smallest deviation of a patch, in shades of grey."""
BEST_NIQE, WORST_NIQE = 0.1, 10.0
MEANS = (0.0, 1.0, -0.7, 0.7, 0.8, 3.0, -3.0)
DEVIATIONS = (0.1, 0.5, 0.5, 0.5, 0.3, 1.0, 1.0)
WEIGHTS = (1.0, 2.0, 1.0, 1.0, 1.5, 1.0, 1.0)
"""For mean, deviation, quartiles, mean size, highest and lowest value of a patch: the
natural value over patches, and its weight."""
NIQE_SCALE, DEVIATION_SHARE = 1.5, 0.5


class Released(NamedTuple):
    """``brisque`` 0 to 100, ``niqe`` .1 to 10, lower is better; 30 features a size."""

    brisque: float
    niqe: float
    features_scale1: tuple[float, ...]
    features_scale2: tuple[float, ...]

    @property
    def score(self) -> float:
        """The quality out of 100, rounded to hundredths."""
        return round(100.0 - self.brisque, 2)

    def to_json(self) -> dict[str, Any]:
        """For the evidence."""
        return {
            **self._asdict(),
            "features_scale1": list(self.features_scale1),
            "features_scale2": list(self.features_scale2),
        }


def released_quality(pixels: Pixels) -> Released | None:
    """Both stand-ins for a (height, width, 3) picture; None if its half size is empty.
    With that the released script fails. Takes about 14 bytes of memory a pixel, for the
    values of the whole picture."""
    cv2 = need("cv2", "ocr")
    height, width = pixels.shape[:2]
    if min(height, width) < 2:
        return None
    half = cv2.resize(pixels, (width // 2, height // 2))
    picture = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    one = brisque_features(picture)
    two = brisque_features(cv2.cvtColor(half, cv2.COLOR_RGB2GRAY))
    return Released(brisque_stand_in((*one, *two)), niqe_stand_in(picture), one, two)


def brisque_stand_in(features: tuple[float, ...]) -> float:
    """The distance of features from one."""
    away = sum(abs(feature - 1) for feature in features) / len(features)
    return min(max(PER_FEATURE * away, 0.0), WORST_BRISQUE)


def brisque_features(picture: Pixels) -> tuple[float, ...]:
    """30 numbers of a grey picture in one size."""
    import numpy

    values = _normalised(picture, SIGMA, _absolute)
    found = list(_shape_and_spread(_Sums.of(values)))
    rows = max(1, STRIP // values.shape[1])
    for down, right in SHIFTS:
        whole = below = above = _Sums()
        signed = 0.0
        for top in range(0, len(values), rows):
            strip = values[top : top + rows]
            places = numpy.arange(top, top + len(strip)) - down
            neighbours = values[places % len(values)]
            products = strip * numpy.roll(neighbours, right, axis=1)
            signed += float(products.sum())
            whole = whole.and_of(products)
            below = below.and_of(products[products < 0])
            above = above.and_of(products[products > 0])
        for side in (whole, below, above):
            found += _shape_and_spread(side)
        found.append(signed / values.size)
    return tuple(found)


class _Sums(NamedTuple):
    """How many values there are, the sum of their sizes and that of their squares."""

    number: int = 0
    sizes: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, values: Numbers) -> _Sums:
        import numpy

        flat = values.ravel()
        return cls(flat.size, float(numpy.abs(flat).sum()), float(flat @ flat))

    def and_of(self, values: Numbers) -> _Sums:
        more = self.of(values)
        return _Sums(
            self.number + more.number,
            self.sizes + more.sizes,
            self.squares + more.squares,
        )


def niqe_stand_in(picture: Pixels) -> float:
    """Distance of seven numbers of the patches from fixed ones; worst without a
    patch."""
    import numpy

    statistics: list[list[float]] = []
    for top in patch_starts(picture.shape[0]):
        for left in patch_starts(picture.shape[1]):
            patch = picture[top : top + PATCH, left : left + PATCH]
            if len(statistics) < MOST_PATCHES and patch.std() > FLAT:
                statistics.append(_seven(patch))
    if not statistics:
        return WORST_NIQE
    found = numpy.array(statistics)
    away = numpy.abs(found.mean(axis=0) - MEANS)
    away += DEVIATION_SHARE * numpy.abs(found.std(axis=0) - DEVIATIONS)
    value = NIQE_SCALE * float(away @ WEIGHTS) / sum(WEIGHTS)
    return min(max(value, BEST_NIQE), WORST_NIQE)


def patch_starts(side: int) -> range:
    """The starts of patches, without the last that fits: a side of 96 pixels has
    none."""
    return range(0, side - PATCH, STRIDE)


def _seven(patch: Pixels) -> list[float]:
    """Seven numbers of the values of a patch, which is normalised by itself."""
    import numpy

    values = _normalised(patch, NIQE_SIGMA, _not_negative)
    quarter, three = numpy.percentile(values, QUARTILES)
    seven = (
        values.mean(),
        values.std(),
        quarter,
        three,
        numpy.abs(values).mean(),
        values.max(),
        values.min(),
    )
    return list(map(float, seven))


def _normalised(
    picture: Pixels, sigma: float, variance_of: Callable[[Numbers], Numbers]
) -> Numbers:
    """The picture minus local mean, over local deviation (at least 1), rows at a
    time."""
    import numpy

    blur = functools.partial(
        need("cv2", "ocr").GaussianBlur, ksize=(WINDOW, WINDOW), sigmaX=sigma
    )
    found = numpy.empty(picture.shape)
    rows = max(1, STRIP // picture.shape[1])
    for top in range(0, len(picture), rows):
        first = max(0, top - WINDOW // 2)
        band = picture[first : top + rows + WINDOW // 2].astype(float)
        inside = slice(top - first, top - first + rows)
        mean = blur(band)
        deviation = numpy.sqrt(variance_of(blur(band * band) - mean * mean))
        steady = (band - mean) / numpy.maximum(deviation, DEVIATION)
        found[top : top + rows] = steady[inside]
    return found


def _absolute(variance: Numbers) -> Numbers:
    """BRISQUE's stand-in takes the absolute value of a variance rounded below zero."""
    return abs(variance)


def _not_negative(variance: Numbers) -> Numbers:
    """The stand-in for NIQE sets a variance that rounding made negative to 0."""
    return variance.clip(0)


def _shape_and_spread(values: _Sums) -> tuple[float, float]:
    """Shape and spread of a generalised Gaussian distribution, by a wrong ratio. It
    compares mean size over root mean square, unsquared, with the gammas of one and two,
    not one, two and three."""
    import numpy

    if not values.squares:
        return NOTHING
    ratio = values.sizes / values.number / math.sqrt(values.squares / values.number)
    shapes, ratios, spreads = _tables()
    nearest = int(numpy.argmin(numpy.abs(ratio - ratios)))
    return float(shapes[nearest]), float(spreads[nearest])


@functools.cache
def _tables() -> tuple[Numbers, Numbers, Numbers]:
    """The shapes that are tried, the script's ratio of each, and the spread."""
    import numpy
    from scipy.special import gamma

    shapes = numpy.arange(FIRST, LAST, STEP)
    one, two, three = (gamma(number / shapes) for number in (1, 2, 3))
    return shapes, one**2 / (two * one), numpy.sqrt(one / three)
