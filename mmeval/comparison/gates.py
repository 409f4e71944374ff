"""Gates: whether a run may pass, by how much worse than the reference it is or might
be, and by what it lacks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass
from typing import Any, Literal

from scipy import special

from mmeval.aggregate.statistics import Interval
from mmeval.comparison.number import Number
from mmeval.comparison.statistics import LEVEL, Correction, PairedTest, corrected
from mmeval.errors import UsageError

Reason = Literal["worse", "not_shown", "lost", "untested"]
"""Why a number fails a gate: it is worse over the pairs; it is not shown to be within
the margin over the pairs; it is not once the lost trials are at their worst; it could
not be tested, or the samples are too few for any finding."""


@dataclass(frozen=True)
class Margins:
    """How much worse is still tolerated: beyond it for certain fails, or whatever is
    not shown to be within it. An equal run is within it on both sides."""

    fail_if_worse: float | None = None
    fail_unless_within: float | None = None
    fail_unless_equal: float | None = None

    def __post_init__(self) -> None:
        """Raises UsageError."""
        given = asdict(self)
        given = {name: margin for name, margin in given.items() if margin is not None}
        for name, margin in given.items():
            if not 0 <= margin < math.inf:
                raise UsageError(
                    f"--{name} takes a difference from 0 on, not {margin}", name=name
                )
        if len(given) > 1:
            raise UsageError(f"--{' and --'.join(given)} are several gates: choose one")

    @property
    def is_asked(self) -> bool:
        return any(margin is not None for margin in astuple(self))

    def is_within(self, number: Number) -> bool:
        """Whether the whole interval of a number lies within the margin that was named,
        and rare differences were not missed. It is the interval that is printed, so
        that of a single number, or a wider one of several that hold together."""
        for margin in (self.fail_unless_equal, self.fail_unless_within):
            if margin is not None and number.test is not None:
                is_equal = _is_equal(number.test, margin)
                return is_equal and _is_inside(number.ci95, margin)
        return False


@dataclass(frozen=True)
class Gate:
    """A gate: its name and margin, whether it is passed, how many numbers were
    ``tested``, and which ones fail it, each with its ``reason``. Where nothing could be
    tested it is not passed.

    For the numbers in ``too_weak`` it could not have seen a difference as large as its
    margin, so that they pass, or fail, for want of samples.
    """

    name: str
    margin: float
    passed: bool
    tested: int
    failed: tuple[dict[str, Any], ...]
    too_weak: tuple[dict[str, Any], ...]


def gate_of(
    margins: Margins, numbers: Sequence[Number], correction: Correction, alpha: float
) -> Gate | None:
    """The gate that was asked for, over all compared numbers; None without one."""
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
            # what is better beyond the margin was seen
            p_of_better = _p_of_worse(number.test, margin, not number.higher_is_better)
            is_unsure = is_unsure and p_of_better >= LEVEL
        seen = number.smallest_seen
        if is_unsure and (seen is None or seen > margin):
            too_weak.append(_place(number))
    passed = tested > 0 and not failed
    return Gate(name, margin, passed, tested, tuple(failed), tuple(too_weak))


def _why_not_within(number: Number, margin: float) -> Reason | None:
    """Why a number is not shown to be no worse than the margin; None where it is."""
    if number.test is None:
        return _why_untested(number)
    if not _is_no_worse(number.test, margin, higher=number.higher_is_better):
        is_worse = _p_of_worse(number.test, margin, number.higher_is_better) < LEVEL
        return "worse" if is_worse else "not_shown"
    if not number.is_incomplete:
        return None
    worst = number.worst
    if worst is None:  # it could be anything
        return "lost"
    is_within = _is_no_worse(worst, margin, higher=number.higher_is_better)
    return None if is_within else "lost"


def _why_not_equal(number: Number, margin: float) -> Reason | None:
    """Why a number is not shown to be equal to within the margin; None where it is."""
    if number.test is None:
        return _why_untested(number)
    if not _is_equal(number.test, margin):
        is_worse = _p_of_worse(number.test, margin, number.higher_is_better) < LEVEL
        return "worse" if is_worse else "not_shown"
    if not number.is_incomplete:
        return None
    if number.worst is None:  # it could be anything
        return "lost"
    is_equal = _is_equal(number.worst, margin) and _is_inside(number.bounds, margin)
    return None if is_equal else "lost"


def _why_untested(number: Number) -> Reason | None:
    """A number that the reference does not have cannot be worse than it."""
    return None if number.is_extra else "untested"


def _is_no_worse(
    test: PairedTest,
    margin: float,
    *,
    higher: bool,
) -> bool:
    """Whether the worse end of the 95 % interval is within the margin, and rare losses
    were not missed."""
    if test.ci95 is None:
        return False
    low, high = test.ci95
    worst, limit = (low, -margin) if higher else (-high, margin)
    unseen = test.one_sided_p_with_unseen(limit, above=not higher)
    return worst >= -margin and unseen < LEVEL / 2


def _is_equal(test: PairedTest, margin: float) -> bool:
    return _is_inside(test.ci95, margin) and test.equivalence_p(margin) < LEVEL / 2


def _is_inside(interval: Interval | None, margin: float) -> bool:
    """Whether an interval lies within the margin on both sides; one that is not there
    does not."""
    if interval is None:
        return False
    low, high = interval
    return -margin <= low and high <= margin


def _why_worse(
    numbers: Sequence[Number], margin: float, correction: Correction, alpha: float
) -> list[Reason | None]:
    """Why each number is worse by more than the margin, beyond doubt; None where it is
    not.

    The tests of a run's numbers are corrected together, those of slices apart as for
    the verdicts, and so are those with what is lost at its worst. Other runs do not
    count: whether a run passes must not depend on how many are compared.
    """
    p_over_pairs: list[float] = []
    p_at_worst: list[float] = []
    for number in numbers:
        p = _p_of_worse(number.test, margin, number.higher_is_better)
        p_over_pairs.append(p)
        if number.is_incomplete and number.worst is None:
            # Nobody knows how bad a lost score may be: the p against a run that loses
            # trials no more often than the reference.
            p = 1.0
            in_a, in_b = number.lost
            if in_b > in_a:
                # both tails of an exact test of signs are alike
                p = min(1.0, 2 * float(special.bdtr(in_a, in_a + in_b, 0.5)))
        elif number.is_incomplete:
            p = _p_of_worse(number.worst, margin, number.higher_is_better)
        p_at_worst.append(p)
    p_over_pairs = _corrected_by_run(numbers, p_over_pairs, correction)
    p_at_worst = _corrected_by_run(numbers, p_at_worst, correction)
    reasons: list[Reason | None] = []
    for at, number in enumerate(numbers):
        reason: Reason | None = None
        if number.test is None:
            reason = _why_untested(number)
        elif p_over_pairs[at] < alpha:
            reason = "worse"
        elif number.is_incomplete and p_at_worst[at] < alpha:
            reason = "lost"
        elif number.test.least_p >= alpha:
            # whatever the scores were, the test could have found nothing
            reason = "untested"
        reasons.append(reason)
    return reasons


def _corrected_by_run(
    numbers: Sequence[Number], values: Sequence[float], correction: Correction
) -> list[float]:
    places: dict[tuple[str, bool], list[int]] = {}
    for place, number in enumerate(numbers):
        if number.test is not None:
            family = (number.run, bool(number.slice))
            places.setdefault(family, []).append(place)
    found = list(values)
    for own in places.values():
        adjusted = corrected([values[place] for place in own], correction)
        for place, value in zip(own, adjusted, strict=True):
            found[place] = value
    return found


def _p_of_worse(
    test: PairedTest | None,
    margin: float,
    is_higher_better: bool,
) -> float:
    """The p of a number that is worse by the margin; 1 for one that is not worse than
    that."""
    if test is None:
        return 1.0
    limit = -margin if is_higher_better else margin
    is_beyond = test.difference < limit if is_higher_better else test.difference > limit
    return test.p_beyond(limit, above=is_higher_better) if is_beyond else 1.0


def _place(number: Number) -> dict[str, Any]:
    return {
        "task": number.task,
        "metric": number.metric,
        "slice": number.slice,
        "run": number.run,
        "smallest_seen": number.smallest_seen,
    }
