"""Notes on a number: trials left out, group tasks without value, repetitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from mmeval.aggregate.summary import cannot_be_done
from mmeval.records.score import Key, Result
from mmeval.system.wording import listed

Pieces = Mapping[tuple[str, str], Collection[str]]
"""Pieces of derived numbers, by task and number; a number without any is left out."""

MAX_NAMED = 3
"""So many tasks of a group are named; the others are counted."""

_NUMBERS = attrgetter(
    "value",
    "n",
    "scored",
    "failed",
    "unscored",
    "unavailable",
    "unsupported",
    "inapplicable",
    "refused",
)


def missing(result: Result) -> str:
    """What a value leaves out: ``2 failed, 1 unscored, bounds 0.4000 to 0.5500``. The
    bounds are how much that could change it, and whether the interval covers them is
    stated. Suspended scoring comes first, then nothing to score."""
    statuses = ("failed", "unscored", "unavailable", "inapplicable", "unsupported")
    counts = [(getattr(result, status), status) for status in statuses]
    found = ["scoring suspended"] if result.suspended else []
    found += ["nothing to score"] if result.has_nothing_to_score else []
    words = ", ".join([*found, *(f"{count} {what}" for count, what in counts if count)])
    if words and result.bounds is not None and (result.failed or result.unscored):
        covered = "" if result.bounds_ci95 is None else ", which the interval covers"
        return f"{words}, bounds {from_to(result.bounds)}{covered}"
    return words


def no_interval(result: Result) -> str:
    """Why a value has no interval: ``no interval: one cluster``. Of a slice only the
    results file has that."""
    is_missing = result.value is not None and result.interval is None
    if not is_missing or not result.no_interval or result.slice:
        return ""
    return f"no interval: {result.no_interval}"


def no_option(result: Result) -> str:
    """How many answers are wrong because they name no option: ``no option 3/200``."""
    return f"no option {result.no_option:,}/{result.n:,}" if result.no_option else ""


def refused(result: Result) -> str:
    """How many answers the model refused, and how many the judge: ``refused 3/200``.

    Refused answers may be scored; verdicts that are refused never are.
    """
    counts = (("refused", result.refused), ("judge refused", result.refused_verdicts))
    return ", ".join(
        f"{words} {count:,}/{result.n:,}" for words, count in counts if count
    )


def from_to(pair: tuple[float, float], digits: int = 4) -> str:
    return f"{pair[0]:.{digits}f} to {pair[1]:.{digits}f}"


def weights(result: Result) -> str:
    """The shares of a group's members, where they differ."""
    if len(set(result.weights.values())) < 2:
        return ""
    return "weights: " + ", ".join(
        f"{name} {share:.4f}" for name, share in result.weights.items()
    )


class NumberReasons:
    """Why a group has no value or fewer tasks, and which pieces a number is without.

    It is made from all numbers of a run, the members of each group, and the pieces that
    derived numbers lack.
    """

    def __init__(
        self,
        results: Iterable[Result],
        members: Mapping[str, Collection[str]],
        without: Pieces,
    ) -> None:
        self._whole = {
            (result.task, result.metric): result
            for result in results
            if not result.slice
        }
        self._members = members
        self._without = without

    def of(self, result: Result) -> str:
        """Empty where no task of a group has a value: its counts say why.
        Of a slice only what the whole does not lack."""
        if result.slice:
            return _without(self._fewer(result))
        if result.task not in self._members:
            return "; ".join((*self._lacking(result), *self._partial([result])))
        own = (*self._unknown(result), *self._as_zero(result), *self._left_out(result))
        return "; ".join((*own, *self._partial(self._tasks(result))))

    def is_partial(self, result: Result) -> bool:
        """Whether a value, or that of one of a group's tasks, is without some pieces; a
        slice: without more of them."""
        if result.slice:
            return bool(self._fewer(result))
        return any(
            self._partial(
                self._tasks(result) if result.task in self._members else [result]
            )
        )

    def _partial(self, numbers: Iterable[Result]) -> Iterator[str]:
        """The pieces that some of the numbers are without, where they have a value."""
        lost = (
            self._without.get((one.task, one.metric), ())
            for one in numbers
            if one.value is not None
        )
        if pieces := list(dict.fromkeys(piece for own in lost for piece in own)):
            yield _without(pieces)

    def _lacking(self, result: Result) -> Iterator[str]:
        """The parts without which a number of numbers has no value."""
        parts = self._without.get((result.task, result.metric), ())
        if result.value is None and result.weights and parts:
            yield f"no value without {listed(list(parts), MAX_NAMED)}"

    def _fewer(self, result: Result) -> list[str]:
        """The parts that a slice's value is without, and the whole is not."""
        whole = self._whole.get((result.task, result.metric))
        if whole is None or result.value is None:
            return []
        return [part for part in whole.weights if part not in result.weights]

    def _tasks(self, group: Result) -> Iterator[Result]:
        """The numbers of the tasks in a group and in the groups in it."""
        for member in self._own(group):
            if member.task in self._members:
                yield from self._tasks(member)
            else:
                yield member

    def _unknown(self, group: Result) -> Iterator[str]:
        """The tasks without which the group has no value, with the counts of their
        trials."""
        own = [member for member in self._own(group) if member.task in group.weights]
        lost = [
            _with_counts(member)
            for member in own
            if member.value is None and not cannot_be_done(member)
        ]
        lost += [
            f"{name} (not asked)"
            for name in group.weights
            if (name, group.metric) not in self._whole
        ]
        if group.value is None and 0 < len(lost) < len(group.weights):
            yield f"no value without {listed(lost, MAX_NAMED)}"

    def _as_zero(self, group: Result) -> Iterator[str]:
        """The members that the model cannot do, where the group counts them."""
        zero = [
            one.task
            for one in self._own(group)
            if one.task in group.weights and cannot_be_done(one)
        ]
        if zero:
            yield f"counted as 0: {listed(zero, MAX_NAMED)}"

    def _left_out(self, group: Result) -> Iterator[str]:
        """The tasks whose samples are all bad, or all unscored by refusals."""
        bad = [
            one.task
            for one in self._own(group)
            if one.faulty
            and one.task not in group.weights
            and one.faulty == one.n - one.unsupported
        ]
        if bad:
            yield f"left out, all samples bad: {listed(bad, MAX_NAMED)}"
        refused_whole = [one.task for one in self._own(group) if one.is_refused_whole]
        if refused_whole and group.value is not None:
            yield f"left out, all refused: {listed(refused_whole, MAX_NAMED)}"

    def _own(self, group: Result) -> Iterator[Result]:
        found = (
            self._whole.get((name, group.metric)) for name in self._members[group.task]
        )
        return (member for member in found if member is not None)


def _without(pieces: Sequence[str]) -> str:
    return f"partial: without {listed(pieces, MAX_NAMED)}" if pieces else ""


def _with_counts(member: Result) -> str:
    counts = missing(replace(member, bounds=None))
    return f"{member.task} ({counts})" if counts else member.task


def repeated(results: Iterable[Result], pieces: Pieces) -> set[Key]:
    """The numbers that tables leave out, though results files keep them. A piece's that
    alone makes an equal one; a slice's unavailable in all of its task, or with nothing
    to score."""
    known = {Key.of(result): result for result in results}
    found = {
        key for key in known if key.slice and is_none(known.get(key._replace(slice="")))
    }
    for key, result in known.items():
        own = list(pieces.get((key.task, key.metric), ()))
        piece = key._replace(metric=own[0]) if len(own) == 1 else key
        if (
            piece in known
            and piece != key
            and _NUMBERS(known[piece]) == _NUMBERS(result)
        ):
            found.add(piece)
    return found


def is_none(whole: Result | None) -> bool:
    """Whether no trial of a whole task has a number, and none has lost it."""
    if whole is None or whole.scored or whole.unscored:
        return False
    return whole.unavailable > 0 or whole.has_nothing_to_score


def is_unavailable(whole: Result | None) -> bool:
    """Whether a whole task's number is unavailable: no trial has it or has lost it."""
    return whole is not None and whole.unavailable > 0 and is_none(whole)
