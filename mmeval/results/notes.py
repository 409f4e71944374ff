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
    words = []
    if result.suspended:
        words.append("scoring suspended")
    if result.has_nothing_to_score:
        words.append("nothing to score")
    for status in ("failed", "unscored", "unavailable", "inapplicable", "unsupported"):
        count = getattr(result, status)
        if count:
            words.append(f"{count} {status}")
    if words and result.bounds is not None and (result.failed or result.unscored):
        words.append(f"bounds {from_to(result.bounds)}")
        if result.bounds_ci95 is not None:
            words.append("which the interval covers")
    return ", ".join(words)


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
    words = []
    if result.refused:
        words.append(f"refused {result.refused:,}/{result.n:,}")
    if result.refused_verdicts:
        words.append(f"judge refused {result.refused_verdicts:,}/{result.n:,}")
    return ", ".join(words)


def from_to(pair: tuple[float, float], digits: int = 4) -> str:
    return f"{pair[0]:.{digits}f} to {pair[1]:.{digits}f}"


def weights(result: Result) -> str:
    """The shares of a group's members, where they differ."""
    if len(set(result.weights.values())) < 2:
        return ""
    shares = [f"{name} {share:.4f}" for name, share in result.weights.items()]
    return f"weights: {', '.join(shares)}"


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
        whole = [result for result in results if not result.slice]
        self._whole = {(result.task, result.metric): result for result in whole}
        self._members = members
        self._without = without

    def of(self, result: Result) -> str:
        """Empty where no task of a group has a value: its counts say why.
        Of a slice only what the whole does not lack."""
        if result.slice:
            return _without(self._fewer(result))
        notes: list[str] = []
        if result.task in self._members:
            notes += self._of_group(result)
        else:
            # a number of numbers
            parts = self._without.get((result.task, result.metric), ())
            if result.value is None and result.weights and parts:
                notes.append(f"no value without {listed(list(parts), MAX_NAMED)}")
        partial = _without(self._lost_pieces(result))
        if partial:
            notes.append(partial)
        return "; ".join(notes)

    def is_partial(self, result: Result) -> bool:
        """Whether a value, or that of one of a group's tasks, is without some pieces; a
        slice: without more of them."""
        lost = self._fewer(result) if result.slice else self._lost_pieces(result)
        return bool(lost)

    def _lost_pieces(self, result: Result) -> list[str]:
        """The pieces that a number is without, or those of a group's tasks, where they
        have a value."""
        pieces: dict[str, None] = {}
        numbers = self._tasks(result) if result.task in self._members else [result]
        for number in numbers:
            if number.value is not None:
                lost = self._without.get((number.task, number.metric), ())
                pieces |= dict.fromkeys(lost)
        return list(pieces)

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

    def _of_group(self, group: Result) -> Iterator[str]:
        lost: list[str] = []
        zero: list[str] = []
        bad: list[str] = []
        refused_whole: list[str] = []
        for member in self._own(group):
            if member.is_refused_whole:
                refused_whole.append(member.task)
            if member.task not in group.weights:
                # all its samples are bad
                if member.faulty and member.faulty == member.n - member.unsupported:
                    bad.append(member.task)
            elif cannot_be_done(member):
                zero.append(member.task)
            elif member.value is None:
                counts = missing(replace(member, bounds=None))
                lost.append(f"{member.task} ({counts})" if counts else member.task)
        for name in group.weights:
            if (name, group.metric) not in self._whole:
                lost.append(f"{name} (not asked)")
        if group.value is None and 0 < len(lost) < len(group.weights):
            yield f"no value without {listed(lost, MAX_NAMED)}"
        if zero:
            yield f"counted as 0: {listed(zero, MAX_NAMED)}"
        if bad:
            yield f"left out, all samples bad: {listed(bad, MAX_NAMED)}"
        if refused_whole and group.value is not None:
            yield f"left out, all refused: {listed(refused_whole, MAX_NAMED)}"

    def _own(self, group: Result) -> Iterator[Result]:
        for name in self._members[group.task]:
            member = self._whole.get((name, group.metric))
            if member is not None:
                yield member


def _without(pieces: Sequence[str]) -> str:
    return f"partial: without {listed(pieces, MAX_NAMED)}" if pieces else ""


def repeated(results: Iterable[Result], pieces: Pieces) -> set[Key]:
    """The numbers that tables leave out, though results files keep them. A piece's that
    alone makes an equal one; a slice's unavailable in all of its task, or with nothing
    to score."""
    known = {Key.of(result): result for result in results}
    found = set()
    for key, result in known.items():
        if key.slice and is_none(known.get(key._replace(slice=""))):
            found.add(key)
        own = list(pieces.get((key.task, key.metric), ()))
        if len(own) != 1 or own[0] == key.metric:
            continue
        piece = key._replace(metric=own[0])
        if piece in known and _NUMBERS(known[piece]) == _NUMBERS(result):
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
