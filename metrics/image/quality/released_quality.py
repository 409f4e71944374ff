"""The stand-ins for BRISQUE and NIQE in UniM's released scorer of pictures.

They are neither BRISQUE nor NIQE. No model is trained or fitted, and every picture,
even noise, scores between 86 and 94 out of 100. They reproduce the released numbers
(profile ``official``) with OpenCV, as the script does. In uniform areas and linear
gradients they only measure the rounding errors of OpenCV's blur, which depend on its
version.
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
"""Number of pixels processed in one step, which limits the memory that is needed."""
WINDOW = 7
"""Side in pixels of a Gaussian window."""
SIGMA = 1.16
"""Standard deviation of the Gaussian window in the stand-in for BRISQUE."""
SHIFTS = ((0, 1), (1, 0), (1, 1), (-1, 1))
"""Offset of a pixel's neighbour: rows down, columns to the right. The picture wraps
around at its borders."""
NOTHING = (1.0, 0.1)
"""The shape and spread if there are no values, or if all values are zero."""
WORST_BRISQUE, PER_FEATURE = 100.0, 20.0
DEVIATION = 1.0
"""The smallest divisor of a difference. A smaller deviation is raised to this value."""
PATCH, STRIDE, MOST_PATCHES = 96, 48, 100
NIQE_SIGMA = 1.5
QUARTILES = (25, 75)
FLAT = 0.5
"""A patch is used if its standard deviation, in shades of grey, is above this."""
BEST_NIQE, WORST_NIQE = 0.1, 10.0
MEANS = (0.0, 1.0, -0.7, 0.7, 0.8, 3.0, -3.0)
DEVIATIONS = (0.1, 0.5, 0.5, 0.5, 0.3, 1.0, 1.0)
WEIGHTS = (1.0, 2.0, 1.0, 1.0, 1.5, 1.0, 1.0)
"""The mean, the deviation and the weight that the script assumes for seven statistics
of patches: mean, deviation, lower and upper quartile, mean absolute value, highest and
lowest value."""
NIQE_SCALE, DEVIATION_SHARE = 1.5, 0.5


class ReleasedScores(NamedTuple):
    """The stand-ins and their features. Lower is better.

    ``brisque`` is from 0 to 100, and ``niqe`` from 0.1 to 10.
    """

    brisque: float
    niqe: float
    features_scale1: tuple[float, ...]
    features_scale2: tuple[float, ...]

    @property
    def score(self) -> float:
        """The quality out of 100, rounded to hundredths."""
        return round(100.0 - self.brisque, 2)

    def to_json(self) -> dict[str, Any]:
        """Returns the numbers for the evidence."""
        return {
            **self._asdict(),
            "features_scale1": list(self.features_scale1),
            "features_scale2": list(self.features_scale2),
        }


def released_quality(pixels: Pixels) -> ReleasedScores | None:
    """Computes both stand-ins for a picture of shape (height, width, 3).

    Returns None if the picture at half size is empty. The released script fails for
    such a picture. The computation needs about 14 bytes of memory per pixel.
    """
    cv2 = need("cv2", "ocr")
    height, width = pixels.shape[:2]
    if min(height, width) < 2:
        return None
    half = cv2.resize(pixels, (width // 2, height // 2))
    picture = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    full_size = brisque_features(picture)
    half_size = brisque_features(cv2.cvtColor(half, cv2.COLOR_RGB2GRAY))
    return ReleasedScores(
        brisque_stand_in((*full_size, *half_size)),
        niqe_stand_in(picture),
        full_size,
        half_size,
    )


def brisque_stand_in(features: tuple[float, ...]) -> float:
    """Returns the scaled mean distance of the features from 1."""
    distance = sum(abs(feature - 1) for feature in features) / len(features)
    return min(max(PER_FEATURE * distance, 0.0), WORST_BRISQUE)


def brisque_features(picture: Pixels) -> tuple[float, ...]:
    """Computes 30 numbers for a grey picture in one size."""
    import numpy

    values = _normalised(picture, SIGMA, _absolute)
    features = list(_shape_and_spread(_Sums.of(values)))
    rows = max(1, STRIP // values.shape[1])
    for down, right in SHIFTS:
        all_products = below = above = _Sums()
        signed = 0.0
        for top in range(0, len(values), rows):
            strip = values[top : top + rows]
            places = numpy.arange(top, top + len(strip)) - down
            neighbours = values[places % len(values)]
            products = strip * numpy.roll(neighbours, right, axis=1)
            signed += float(products.sum())
            all_products = all_products.and_of(products)
            below = below.and_of(products[products < 0])
            above = above.and_of(products[products > 0])
        for side in (all_products, below, above):
            features += _shape_and_spread(side)
        features.append(signed / values.size)
    return tuple(features)


class _Sums(NamedTuple):
    """The number of values, the sum of absolute values, and the sum of squares."""

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
    """Returns the distance of seven statistics of the patches from fixed values.

    Without a patch, the worst value is returned.
    """
    import numpy

    statistics: list[list[float]] = []
    for top in patch_starts(picture.shape[0]):
        for left in patch_starts(picture.shape[1]):
            patch = picture[top : top + PATCH, left : left + PATCH]
            if len(statistics) < MOST_PATCHES and patch.std() > FLAT:
                statistics.append(_patch_statistics(patch))
    if not statistics:
        return WORST_NIQE
    patches = numpy.array(statistics)
    distance = numpy.abs(patches.mean(axis=0) - MEANS)
    distance += DEVIATION_SHARE * numpy.abs(patches.std(axis=0) - DEVIATIONS)
    value = NIQE_SCALE * float(distance @ WEIGHTS) / sum(WEIGHTS)
    return min(max(value, BEST_NIQE), WORST_NIQE)


def patch_starts(side: int) -> range:
    """Returns the starts of patches along a side.

    The last patch that fits is left out, so a side of 96 pixels has no patch.
    """
    return range(0, side - PATCH, STRIDE)


def _patch_statistics(patch: Pixels) -> list[float]:
    """Returns seven statistics of a patch, which is normalised separately."""
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
    """Subtracts the local mean and divides by the local deviation (at least 1)."""
    import numpy

    blur = functools.partial(
        need("cv2", "ocr").GaussianBlur, ksize=(WINDOW, WINDOW), sigmaX=sigma
    )
    values = numpy.empty(picture.shape)
    rows = max(1, STRIP // picture.shape[1])
    for top in range(0, len(picture), rows):
        first = max(0, top - WINDOW // 2)
        band = picture[first : top + rows + WINDOW // 2].astype(float)
        inside = slice(top - first, top - first + rows)
        mean = blur(band)
        deviation = numpy.sqrt(variance_of(blur(band * band) - mean * mean))
        steady = (band - mean) / numpy.maximum(deviation, DEVIATION)
        values[top : top + rows] = steady[inside]
    return values


def _absolute(variance: Numbers) -> Numbers:
    """Makes a negative variance positive, as the BRISQUE stand-in does."""
    return abs(variance)


def _not_negative(variance: Numbers) -> Numbers:
    """Replaces a negative variance by 0, as the NIQE stand-in does."""
    return variance.clip(0)


def _shape_and_spread(values: _Sums) -> tuple[float, float]:
    """Fits a generalised Gaussian, with the script's wrong ratio.

    The script divides the mean absolute value by the root mean square, without squaring
    this ratio, and compares it with a ratio of the gamma functions of one and two. The
    correct ratio uses those of one, two and three.
    """
    import numpy

    if not values.squares:
        return NOTHING
    ratio = values.sizes / values.number / math.sqrt(values.squares / values.number)
    shapes, ratios, spreads = _tables()
    nearest = int(numpy.argmin(numpy.abs(ratio - ratios)))
    return float(shapes[nearest]), float(spreads[nearest])


@functools.cache
def _tables() -> tuple[Numbers, Numbers, Numbers]:
    """Returns the shapes that are tried, and the script's ratio and spread for each."""
    import numpy
    from scipy.special import gamma

    shapes = numpy.arange(FIRST, LAST, STEP)
    gamma_one, gamma_two, gamma_three = (gamma(number / shapes) for number in (1, 2, 3))
    return (
        shapes,
        gamma_one**2 / (gamma_two * gamma_one),
        numpy.sqrt(gamma_one / gamma_three),
    )
