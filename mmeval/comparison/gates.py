"""Gates check whether a run is worse than the reference by more than a margin, or
whether this cannot be ruled out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, Literal

from scipy import special

from mmeval.aggregate.statistics import Interval
from mmeval.comparison.number import ComparedNumber
from mmeval.comparison.statistics import LEVEL, Correction, PairedTest, corrected
from mmeval.errors import UsageError

Reason = Literal["worse", "not_shown", "lost", "untested"]
"""Why a number fails a gate.

``worse``: over the pairs, the number is worse by more than the margin. ``not_shown``:
the pairs do not show that the number is within the margin. ``lost``: the number fails
if every lost trial gets its worst score. ``untested``: the number was not tested, or
has too few samples to detect any difference.
"""


@dataclass(frozen=True)
class Margins:
    """The margin of a gate. At most one field is set. A run fails if it is worse by
    more than ``fail_if_worse``, or if it is not shown to be within one of the other
    margins."""

    fail_if_worse: float | None = None
    fail_unless_within: float | None = None
    fail_unless_equal: float | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for an invalid margin, or for several margins."""
        margins = asdict(self)
        margins = {
            name: margin for name, margin in margins.items() if margin is not None
        }
        for name, margin in margins.items():
            if not 0 <= margin < math.inf:
                raise UsageError(
                    f"--{name} must be a difference of at least 0, not {margin}",
                    name=name,
                )
        if len(margins) > 1:
            raise UsageError(
                f"--{' and --'.join(margins)} cannot be combined; use one of them"
            )

    @property
    def is_set(self) -> bool:
        return any(margin is not None for margin in astuple(self))

    def is_within(self, number: ComparedNumber) -> bool:
        """Returns whether both ends of a number's printed interval are within the
        margin, and the test rules out rare differences that no sample shows. The
        printed intervals are wider if they are simultaneous."""
        for margin in (self.fail_unless_equal, self.fail_unless_within):
            if margin is not None and number.test is not None:
                is_equal = _is_equal(number.test, margin)
                return is_equal and _is_inside(number.ci95, margin)
        return False


@dataclass(frozen=True)
class Gate:
    """The result of a gate.

    ``tested`` is the number of tested numbers. If nothing was tested, the gate fails.
    ``failed`` lists the numbers that fail, each with its ``reason``.

    ``too_weak`` lists the numbers that have too few samples to detect a difference as
    large as the margin. With more samples, their results might change.
    """

    name: str
    margin: float
    passed: bool
    tested: int
    failed: tuple[dict[str, Any], ...]
    too_weak: tuple[dict[str, Any], ...]


def gate_of(
    margins: Margins,
    numbers: Sequence[ComparedNumber],
    correction: Correction,
    alpha: float,
) -> Gate | None:
    """Returns the result of the requested gate over all compared numbers, or None if no
    gate is set."""
    if margins.fail_unless_within is not None:
        name, margin = "fail_unless_within", margins.fail_unless_within
        reasons = [_why_not_within(number, margin) for number in numbers]
    elif margins.fail_unless_equal is not None:
        name, margin = "fail_unless_equal", margins.fail_unless_equal
        reasons = [_why_not_equal(number, margin) for number in numbers]
    elif margins.fail_if_worse is not None:
        name, margin = "fail_if_worse", margins.fail_if_worse
        reasons = _why_worse(numbers, margin, correction, alpha)
    else:
        return None
    failed = []
    too_weak = []
    tested = 0
    for number, reason in zip(numbers, reasons, strict=True):
        if reason is not None:
            failed.append({**_place(number), "reason": reason})
        if number.test is None:
            continue
        tested += 1
        if name == "fail_if_worse":
            is_unsure = reason is None and margin > 0
        else:
            is_unsure = reason == "not_shown"
        if name == "fail_unless_equal":
            # a run that is better by more than the margin was detected
            p_of_better = _p_of_worse(number.test, margin, not number.higher_is_better)
            is_unsure = is_unsure and p_of_better >= LEVEL
        smallest = number.smallest_seen
        if is_unsure and (smallest is None or smallest > margin):
            too_weak.append(_place(number))
    # a gate must not pass because nothing could be tested
    passed = tested > 0 and not failed
    return Gate(name, margin, passed, tested, tuple(failed), tuple(too_weak))


def _why_not_within(number: ComparedNumber, margin: float) -> Reason | None:
    """Returns why a number may be worse by more than the margin, or None if it is
    not."""
    if number.test is None:
        return _why_untested(number)
    if not _is_no_worse(number.test, margin, higher=number.higher_is_better):
        is_worse = _p_of_worse(number.test, margin, number.higher_is_better) < LEVEL
        return "worse" if is_worse else "not_shown"
    if not number.is_incomplete:
        return None
    worst = number.worst
    if worst is None:  # the lost scores have no bounds
        return "lost"
    is_within = _is_no_worse(worst, margin, higher=number.higher_is_better)
    return None if is_within else "lost"


def _why_not_equal(number: ComparedNumber, margin: float) -> Reason | None:
    """Returns why a number is not shown to be equal within the margin, or None if it
    is."""
    if number.test is None:
        return _why_untested(number)
    if not _is_equal(number.test, margin):
        is_worse = _p_of_worse(number.test, margin, number.higher_is_better) < LEVEL
        return "worse" if is_worse else "not_shown"
    if not number.is_incomplete:
        return None
    if number.worst is None:  # the lost scores have no bounds
        return "lost"
    is_equal = _is_equal(number.worst, margin) and _is_inside(number.bounds, margin)
    return None if is_equal else "lost"


def _why_untested(number: ComparedNumber) -> Reason | None:
    """Returns the reason ``untested``. Returns None for a number that the reference
    does not have, because such a number cannot be worse."""
    return None if number.is_extra else "untested"


def _is_no_worse(
    test: PairedTest,
    margin: float,
    *,
    higher: bool,
) -> bool:
    """Returns whether the worse end of the 95 % interval is within the margin, and the
    test rules out rare losses that no sample shows."""
    if test.ci95 is None:
        return False
    low, high = test.ci95
    worst, limit = (low, -margin) if higher else (-high, margin)
    # one side of a 95 % interval has half of its level
    p = test.one_sided_p_with_unseen(limit, above=not higher)
    return worst >= -margin and p < LEVEL / 2


def _is_equal(test: PairedTest, margin: float) -> bool:
    return _is_inside(test.ci95, margin) and test.equivalence_p(margin) < LEVEL / 2


def _is_inside(interval: Interval | None, margin: float) -> bool:
    """Returns whether an interval is within the margin on both sides. Returns False if
    there is no interval."""
    if interval is None:
        return False
    low, high = interval
    return -margin <= low and high <= margin


def _why_worse(
    numbers: Sequence[ComparedNumber],
    margin: float,
    correction: Correction,
    alpha: float,
) -> list[Reason | None]:
    """Returns a reason for each number that is significantly worse by more than the
    margin, and None for any other number.

    The tests of a run's numbers are corrected together, and the tests of its slices
    separately, as for the verdicts. The tests that give lost trials their worst scores
    are corrected in the same way. Other runs are ignored: a run must not pass or fail
    because of them.
    """
    p_over_pairs: list[float] = []
    p_at_worst: list[float] = []
    for number in numbers:
        p = _p_of_worse(number.test, margin, number.higher_is_better)
        p_over_pairs.append(p)
        if number.is_incomplete and number.worst is None:
            # The worst score is unknown, so this tests whether the run loses trials
            # more often than the reference.
            p = 1.0
            in_a, in_b = number.lost
            if in_b > in_a:
                # both tails of an exact sign test are equal
                p = min(1.0, 2 * float(special.bdtr(in_a, in_a + in_b, 0.5)))
        elif number.is_incomplete:
            p = _p_of_worse(number.worst, margin, number.higher_is_better)
        p_at_worst.append(p)
    p_over_pairs = _corrected_by_run(numbers, p_over_pairs, correction)
    p_at_worst = _corrected_by_run(numbers, p_at_worst, correction)
    reasons: list[Reason | None] = []
    for place, number in enumerate(numbers):
        reason: Reason | None = None
        if number.test is None:
            reason = _why_untested(number)
        elif p_over_pairs[place] < alpha:
            reason = "worse"
        elif number.is_incomplete and p_at_worst[place] < alpha:
            reason = "lost"
        elif number.test.least_p >= alpha:
            # no scores could have made the test significant
            reason = "untested"
        reasons.append(reason)
    return reasons


def _corrected_by_run(
    numbers: Sequence[ComparedNumber], values: Sequence[float], correction: Correction
) -> list[float]:
    places: dict[tuple[str, bool], list[int]] = {}
    for place, number in enumerate(numbers):
        if number.test is not None:
            family = (number.run, bool(number.slice))
            places.setdefault(family, []).append(place)
    corrected_values = list(values)
    for family_places in places.values():
        adjusted = corrected([values[place] for place in family_places], correction)
        for place, value in zip(family_places, adjusted, strict=True):
            corrected_values[place] = value
    return corrected_values


def _p_of_worse(
    test: PairedTest | None,
    margin: float,
    is_higher_better: bool,
) -> float:
    """Returns the p of a number that is worse by more than the margin, and 1 for any
    other number."""
    if test is None:
        return 1.0
    limit = -margin if is_higher_better else margin
    is_beyond = test.difference < limit if is_higher_better else test.difference > limit
    return test.p_beyond(limit, above=is_higher_better) if is_beyond else 1.0


def _place(number: ComparedNumber) -> dict[str, Any]:
    return {
        "task": number.task,
        "metric": number.metric,
        "slice": number.slice,
        "run": number.run,
        "smallest_seen": number.smallest_seen,
    }
