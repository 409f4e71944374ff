"""Student's t test of a difference, with and without a correction for skewness."""

from __future__ import annotations

from dataclasses import dataclass

from scipy import special

from mmeval.aggregate.resampling import Values


@dataclass(frozen=True)
class Student:
    """Student's t test of a ``difference``. The standard error is above 0."""

    difference: float
    stderr: float
    freedom: float

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        distance = (limit - self.difference) / self.stderr
        return float(special.stdtr(self.freedom, -distance if above else distance))


@dataclass(frozen=True)
class WithoutSkewness:
    """Student's t test after a transformation that makes a skewed distribution of the
    difference nearly symmetric. ``skewness`` is the skewness of the difference, not of
    one cluster. Source: Hall, On the removal of skewness by transformation, 1992."""

    difference: float
    stderr: float
    freedom: float
    skewness: float

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        distance = (self.difference - limit) / self.stderr
        third = self.skewness / 3
        transformed = distance + self.skewness / 6
        transformed += third * distance**2 + third**2 * distance**3 / 3
        return float(
            special.stdtr(self.freedom, transformed if above else -transformed)
        )


def skewness(influence: Values) -> float:
    """Returns the skewness of a sum of independent influences."""
    squares = float(influence @ influence)
    return float((influence**3).sum()) / squares**1.5 if squares else 0.0
