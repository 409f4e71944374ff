"""Asymmetric generalised Gaussian distributions (AGGD), fitted to many sets of numbers at once by their moments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

FIRST, LAST, STEP = 0.2, 10.0, 0.001
"""The shapes that are tried."""
ONE_SIDED = 1e-6
"""Of the sum of squares: the share of one side below which it is summed by itself."""


class Fit(NamedTuple):
    """One number for each set. ``shape`` is 2 for a normal distribution and smaller where the tails are heavier;
    ``left`` and ``right`` are the spreads of the numbers below and above zero, NaN where a set has none there."""

    shape: Numbers
    left: Numbers
    right: Numbers

    @property
    def mean(self) -> Numbers:
        """Of the fitted distribution: it is not that of the numbers."""
        import numpy
        from scipy.special import gamma

        with numpy.errstate(invalid="ignore"):
            mean: Numbers = (self.right - self.left) * gamma(2 / self.shape) / gamma(1 / self.shape)
            return mean


class Shapes(NamedTuple):
    """The shapes that are tried, rising; the squared mean size of each over its mean square, rising, too; and the
    factor from the root mean square of a side to its spread."""

    shape: Numbers
    ratio: Numbers
    factor: Numbers


@functools.cache
def shapes() -> Shapes:
    """The table of all shapes that are tried."""
    import numpy
    from scipy.special import gamma

    shape = numpy.arange(FIRST, LAST + STEP, STEP)
    one, two, three = gamma(1 / shape), gamma(2 / shape), gamma(3 / shape)
    return Shapes(shape, two**2 / (one * three), numpy.sqrt(one / three))


class Moments(NamedTuple):
    """Of some sets of numbers, one entry for each: how many are below and above zero and how many there are, the sum of
    their sizes, and the sums of the squares of those below and above."""

    below: Numbers
    above: Numbers
    size: int
    sizes: Numbers
    squares_below: Numbers
    squares_above: Numbers


def moments(sets: Numbers) -> Moments:
    """The moments of each row of numbers. Zeros belong to no side."""
    import numpy

    sizes = numpy.abs(sets)
    below, above = ([numpy.count_nonzero(row) for row in side] for side in (sets < 0, sets > 0))
    squares = numpy.array([row @ row for row in sizes])
    signed = numpy.array([row @ size for row, size in zip(sets, sizes, strict=True)])
    return moments_of(below, above, sets.shape[1], sizes.sum(axis=1), squares, signed, sets.__getitem__)


def moments_of(
    below: Sequence[int],
    above: Sequence[int],
    size: int,
    sizes: Numbers,
    squares: Numbers,
    signed: Numbers,
    values: Callable[[int], Numbers],
) -> Moments:
    """The moments of sets from their counts and sums: of the squares, and of these with the signs of the numbers.
    ``values`` gives the numbers themselves of one set, for where its sums do not tell its sides apart."""
    import numpy

    left, right = numpy.array(below, float), numpy.array(above, float)
    squares_below = numpy.where(left > 0, (squares - signed) / 2, 0)
    squares_above = numpy.where(right > 0, (squares + signed) / 2, 0)
    two_sided = (left > 0) & (right > 0)
    for row in numpy.flatnonzero(two_sided & (numpy.minimum(squares_below, squares_above) < ONE_SIDED * squares)):
        # The difference of two sums that are nearly equal is no number to trust.
        found = values(row)
        squares_below[row] = numpy.square(numpy.minimum(found, 0)).sum()
        squares_above[row] = numpy.square(numpy.maximum(found, 0)).sum()
    return Moments(left, right, size, sizes, squares_below, squares_above)


def joined(parts: Sequence[Moments]) -> Moments:
    """The moments of all sets, one after the other. They are equally long."""
    import numpy

    below, above, sizes, *sums = zip(*parts, strict=True)
    return Moments(numpy.concatenate(below), numpy.concatenate(above), sizes[0], *map(numpy.concatenate, sums))


def fitted(found: Moments) -> Fit:
    """The distribution of each set, by matching moments (Lasmar, Stitou and Berthoumieu, 2009).

    All three numbers are NaN for a set that lacks a side.
    """
    import numpy

    with numpy.errstate(divide="ignore", invalid="ignore"):
        left = numpy.sqrt(found.squares_below / found.below)
        right = numpy.sqrt(found.squares_above / found.above)
        skew = left / right
        ratio = (found.sizes / found.size) ** 2 / ((found.squares_below + found.squares_above) / found.size)
        ratio *= (skew**3 + 1) * (skew + 1) / (skew**2 + 1) ** 2
    table, nearest = shapes(), nearest_ratios(ratio)
    factor = numpy.where(numpy.isnan(ratio), numpy.nan, table.factor[nearest])
    return Fit(numpy.where(numpy.isnan(ratio), numpy.nan, table.shape[nearest]), left * factor, right * factor)


def nearest_ratios(ratios: Numbers) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Where in the table the ratio is next to each of these, the lower of two that are equally near: what a search
    through the whole table for the smallest squared difference finds, too."""
    import numpy

    ratio = shapes().ratio
    above = numpy.searchsorted(ratio, ratios).clip(1, len(ratio) - 1)
    lower = (ratio[above - 1] - ratios) ** 2 <= (ratio[above] - ratios) ** 2
    found: np.ndarray[Any, np.dtype[np.intp]] = above - lower
    return found
