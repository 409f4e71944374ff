"""Asymmetric generalised Gaussians (AGGD), fitted to sets of numbers by moments."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

FIRST, LAST, STEP = 0.2, 10.0, 0.001
"""The first and the last shape that are tried, and the step between shapes."""


class Fit(NamedTuple):
    """The fitted distributions, with one number per set in each field.

    A ``shape`` of 2 is a normal distribution, and a lower shape has heavier tails.
    ``left`` and ``right`` are the spreads below and above zero, or NaN if a side is
    empty.
    """

    shape: Numbers
    left: Numbers
    right: Numbers

    @property
    def mean(self) -> Numbers:
        """The mean of the fitted distribution. It differs from the data's mean."""
        import numpy
        from scipy.special import gamma

        with numpy.errstate(invalid="ignore"):
            difference = self.right - self.left
            mean: Numbers = difference * gamma(2 / self.shape) / gamma(1 / self.shape)
            return mean


class Shapes(NamedTuple):
    """The shapes that are tried, in rising order, each with a ratio and a factor.

    ``ratio`` is the squared mean of absolute values divided by the mean square. The
    ratio rises with the shape. ``factor`` converts the root mean square of one side to
    the spread of this side.
    """

    shape: Numbers
    ratio: Numbers
    factor: Numbers


@functools.cache
def shapes() -> Shapes:
    """Returns the table of all shapes that are tried."""
    import numpy
    from scipy.special import gamma

    shape = numpy.arange(FIRST, LAST + STEP, STEP)
    one, two, three = (gamma(number / shape) for number in (1, 2, 3))
    return Shapes(shape, two**2 / (one * three), numpy.sqrt(one / three))


class Moments(NamedTuple):
    """The moments of sets of ``size`` numbers, with one entry per set.

    The moments are the counts of numbers below and above zero, the sum of absolute
    values, and the sums of squares below and above zero. Zeros belong to neither side.
    """

    below: Numbers
    above: Numbers
    size: int
    sizes: Numbers
    squares_below: Numbers
    squares_above: Numbers


def moments_of(sets: Numbers) -> Moments:
    """Computes the moments of sets with shape (sets, numbers)."""
    import numpy

    low, high = numpy.minimum(sets, 0), numpy.maximum(sets, 0)
    return Moments(
        numpy.count_nonzero(sets < 0, axis=1).astype(float),
        numpy.count_nonzero(sets > 0, axis=1).astype(float),
        sets.shape[1],
        high.sum(axis=1) - low.sum(axis=1),
        _squares(low),
        _squares(high),
    )


def _squares(sets: Numbers) -> Numbers:
    """Returns the sum of squares of each set."""
    products: Numbers = sets[:, None] @ sets[:, :, None]
    return products[:, 0, 0]


def fitted(moments: Moments) -> Fit:
    """Fits a distribution to each set by matching moments (Lasmar et al., 2009).

    A set without numbers below or above zero gets NaN for shape and spreads.
    """
    import numpy

    with numpy.errstate(divide="ignore", invalid="ignore"):
        left = numpy.sqrt(moments.squares_below / moments.below)
        right = numpy.sqrt(moments.squares_above / moments.above)
        skew = left / right
        squares = moments.squares_below + moments.squares_above
        ratio = (moments.sizes / moments.size) ** 2 / (squares / moments.size)
        ratio *= (skew**3 + 1) * (skew + 1) / (skew**2 + 1) ** 2
    table, nearest = shapes(), nearest_ratios(ratio)
    is_one_sided = numpy.isnan(ratio)
    shape = numpy.where(is_one_sided, numpy.nan, table.shape[nearest])
    factor = numpy.where(is_one_sided, numpy.nan, table.factor[nearest])
    return Fit(shape, left * factor, right * factor)


def nearest_ratios(ratios: Numbers) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Returns the index of the nearest ratio in the table, for each of ``ratios``.

    The nearest ratio has the smallest squared difference. If two differences are equal,
    the lower index is returned.
    """
    import numpy

    ratio = shapes().ratio
    above = numpy.searchsorted(ratio, ratios).clip(1, len(ratio) - 1)
    lower = (ratio[above - 1] - ratios) ** 2 <= (ratio[above] - ratios) ** 2
    nearest: np.ndarray[Any, np.dtype[np.intp]] = above - lower
    return nearest
