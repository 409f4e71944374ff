"""The interface of tests of a difference, and the p and interval that follow from a
test.

The interval is the inverted test: it contains the differences that the test does not
reject. So p is below 0.05 exactly if the 95 % interval excludes 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from mmeval.aggregate.statistics import Interval

_MOST_STEPS = 70
_MOST_DOUBLINGS = 60
_PRECISION = 1e-14


class DifferenceTest(Protocol):
    """The result of a test of a difference."""

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        """Returns the one-sided p of a hypothesis.

        The hypothesis is that the true difference is at ``limit`` or beyond it. Beyond
        means ``above`` the limit, or else below it. If the p is small, the hypothesis
        is rejected.
        """


@dataclass(frozen=True)
class CombinedTest:
    """A test that rejects a true difference only if all its members reject it. The
    interval of the test is the smallest one that contains the intervals of all members.
    """

    members: tuple[DifferenceTest, ...]

    def one_sided_p(self, limit: float, *, above: bool) -> float:
        return max(member.one_sided_p(limit, above=above) for member in self.members)


def two_sided(test: DifferenceTest, limit: float = 0.0) -> float:
    """Returns the two-sided p of a true difference of ``limit``."""
    above = test.one_sided_p(limit, above=True)
    below = test.one_sided_p(limit, above=False)
    return min(1.0, 2 * min(above, below))


def interval_of(
    test: DifferenceTest, difference: float, width: float, alpha: float
) -> Interval | None:
    """Returns the interval of the true differences with a p of at least ``alpha``,
    within ``width`` of 0. Returns None if the interval is unbounded."""

    def is_held(above: bool) -> Callable[[float], bool]:
        return lambda limit: test.one_sided_p(limit, above=above) >= alpha / 2

    low = _end(is_held(False), difference, -width)
    high = _end(is_held(True), difference, width)
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def _end(
    is_held: Callable[[float], bool],
    inside: float,
    furthest: float,
) -> float:
    """Searches from ``inside`` towards ``furthest``. Returns the last value that is in
    the interval."""
    outside = furthest
    if math.isinf(furthest):
        step = math.copysign(abs(inside) or 1.0, furthest)
        most = 2.0**_MOST_DOUBLINGS * max(1.0, abs(inside))
        while is_held(inside + step):
            step *= 2
            if abs(step) > most:
                return furthest
        outside = inside + step
    elif is_held(furthest):
        return furthest

    for _ in range(_MOST_STEPS):
        if abs(outside - inside) <= _PRECISION * max(abs(outside), abs(inside)):
            break
        middle = (outside + inside) / 2
        if is_held(middle):
            inside = middle
        else:
            outside = middle

    # If the end is 0 up to rounding, 0 itself is tested: the verdict depends on it.
    if min(inside, outside) <= 0 <= max(inside, outside) and is_held(0.0):
        return 0.0
    return inside
