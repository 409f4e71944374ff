"""Gates: whether a run may pass, by how much worse than the reference it is or might
be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.comparison.number import Number
from mmeval.comparison.statistics import LEVEL, Correction, corrected
from mmeval.errors import UsageError


@dataclass(frozen=True)
class Margins:
    """How much worse is still tolerated: beyond it for certain fails, or whatever is
    not shown to be within it. An equal run is within it on both sides."""

    fail_if_worse: float | None = None
    fail_unless_within: float | None = None
    fail_unless_equal: float | None = None

    def __post_init__(self) -> None:
        """Raises UsageError."""
        given = {
            name: margin
            for name, margin in (
                ("fail_if_worse", self.fail_if_worse),
                ("fail_unless_within", self.fail_unless_within),
                ("fail_unless_equal", self.fail_unless_equal),
            )
            if margin is not None
        }
        for name, margin in given.items():
            if not (margin >= 0 and math.isfinite(margin)):
                raise UsageError(
                    f"--{name} takes a difference from 0 on, not {margin}", name=name
                )
        if len(given) > 1:
            raise UsageError(
                f"--{' and --'.join(given)} are several gates: choose one"
            )

    def is_within(self, number: Number) -> bool:
        """Whether a number is shown to be no worse than the margin, or equal to within
        it: its 95 % interval lies there, and rare differences were not missed."""
        test = number.test
        if test is None or number.ci95 is None:
            return False
        low, high = number.ci95
        if self.fail_unless_equal is not None:
            margin = self.fail_unless_equal
            is_inside = -margin <= low and high <= margin
            return is_inside and test.equivalence_p(margin) < LEVEL / 2
        if self.fail_unless_within is None:
            return False
        margin = self.fail_unless_within
        if number.higher_is_better:
            return low >= -margin and (
                test.doubt_of_unseen(-margin, above=False) < LEVEL / 2
            )
        return high <= margin and test.doubt_of_unseen(margin, above=True) < LEVEL / 2


@dataclass(frozen=True)
class Gate:
    """A gate: its name and margin, whether it is passed, which numbers fail it, and for
    which ones it is ``too_weak``: it could not have seen a difference as large as its
    margin, so that they pass, or fail, for want of samples."""

    name: str
    margin: float
    passed: bool
    failed: tuple[dict[str, Any], ...]
    too_weak: tuple[dict[str, Any], ...]


def gate_of(
    margins: Margins, numbers: Sequence[Number], correction: Correction, alpha: float
) -> Gate | None:
    """The gate that was asked for, over all numbers that could be compared; None
    without one."""
    tested = [number for number in numbers if number.test is not None]
    for name, margin in (
        ("fail_unless_within", margins.fail_unless_within),
        ("fail_unless_equal", margins.fail_unless_equal),
    ):
        if margin is not None:
            failed = [number for number in tested if not margins.is_within(number)]
            return _gate(name, margin, failed, failed)
    if margins.fail_if_worse is None:
        return None
    margin = margins.fail_if_worse
    if not margin:
        return _gate(
            "fail_if_worse",
            margin,
            [one for one in tested if one.verdict == "worse"],
            (),
        )
    values = corrected([2 * _doubt(number, margin) for number in tested], correction)
    failed = [number for number, p in zip(tested, values, strict=True) if p < alpha]
    return _gate(
        "fail_if_worse",
        margin,
        failed,
        [number for number in tested if number not in failed],
    )


def _doubt(number: Number, margin: float) -> float:
    """The one-sided p against a number that is worse by no more than the margin."""
    assert number.test is not None
    up = number.higher_is_better
    return number.test.doubt(-margin if up else margin, above=up)


def _gate(
    name: str, margin: float, failed: Sequence[Number], unsure: Sequence[Number]
) -> Gate:
    weak = [
        one for one in unsure if one.smallest_seen is None or one.smallest_seen > margin
    ]
    return Gate(
        name, margin, not failed, tuple(map(_place, failed)), tuple(map(_place, weak))
    )


def _place(number: Number) -> dict[str, Any]:
    return {
        name: getattr(number, name)
        for name in ("task", "metric", "slice", "run", "smallest_seen")
    }
