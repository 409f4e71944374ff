"""Writes the notes on a number: missing trials, tasks without a value, repeated
numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter

from mmeval.aggregate.summary import is_unsupported
from mmeval.records.score import Key, Result
from mmeval.system.wording import listed

Pieces = Mapping[tuple[str, str], Collection[str]]
"""The pieces of derived numbers, by task and number."""

MAX_NAMED = 3
"""The number of tasks of a group that a note names. The others are counted."""

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
    """Returns the trials that a value leaves out, and the bounds that include them,
    such as ``2 failed, 1 unscored, bounds 0.4000 to 0.5500``.

    The text also states whether the interval covers the bounds. ``scoring suspended``
    comes first, then ``nothing to score``.
    """
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
    """Returns why a value has no interval: ``no interval: one cluster``. The result is
    empty for a slice."""
    is_missing = result.value is not None and result.interval is None
    if not is_missing or not result.no_interval or result.slice:
        return ""
    return f"no interval: {result.no_interval}"


def no_option(result: Result) -> str:
    """Returns the number of answers that count as wrong because they name no option:
    ``no option 3/200``."""
    return f"no option {result.no_option:,}/{result.n:,}" if result.no_option else ""


def refused(result: Result) -> str:
    """Returns the number of refusals of the model and of the judge: ``refused 3/200``.

    Refused answers may be scored. A trial with a refused verdict has no score.
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
    """Returns the weights of a group's members, or an empty string if all are equal."""
    if len(set(result.weights.values())) < 2:
        return ""
    shares = [f"{name} {share:.4f}" for name, share in result.weights.items()]
    return f"weights: {', '.join(shares)}"


class NumberReasons:
    """Reasons why a group has no value or leaves out tasks, and missing pieces of
    numbers.

    ``results`` are all numbers of a run. ``members`` are the members of each group.
    ``without`` are the missing pieces of derived numbers.
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
        """Returns the reasons for one number. The result is empty if no task of a group
        has a value, since the counts of the group state why. For a slice, it includes
        only missing parts that the whole has."""
        if result.slice:
            return _without(self._missing_parts(result))
        notes: list[str] = []
        if result.task in self._members:
            notes += self._of_group(result)
        else:
            # a combined number
            parts = self._without.get((result.task, result.metric), ())
            if result.value is None and result.weights and parts:
                notes.append(f"no value without {listed(list(parts), MAX_NAMED)}")
        partial = _without(self._missing_pieces(result))
        if partial:
            notes.append(partial)
        return "; ".join(notes)

    def is_partial(self, result: Result) -> bool:
        """Returns True if a value lacks pieces or, for a group, if the value of one of
        its tasks lacks pieces. A slice is partial if it lacks pieces that the whole
        has."""
        missing_parts = (
            self._missing_parts(result)
            if result.slice
            else self._missing_pieces(result)
        )
        return bool(missing_parts)

    def _missing_pieces(self, result: Result) -> list[str]:
        """Returns the missing pieces of numbers with a value: this number, or the
        numbers of a group's tasks."""
        pieces: dict[str, None] = {}
        numbers = self._tasks(result) if result.task in self._members else [result]
        for number in numbers:
            if number.value is not None:
                missing_pieces = self._without.get((number.task, number.metric), ())
                pieces |= dict.fromkeys(missing_pieces)
        return list(pieces)

    def _missing_parts(self, result: Result) -> list[str]:
        """Returns the parts that the whole has and a slice's value lacks."""
        whole = self._whole.get((result.task, result.metric))
        if whole is None or result.value is None:
            return []
        return [part for part in whole.weights if part not in result.weights]

    def _tasks(self, group: Result) -> Iterator[Result]:
        """Yields the numbers of the tasks in a group, including the tasks of nested
        groups."""
        for member in self._member_results(group):
            if member.task in self._members:
                yield from self._tasks(member)
            else:
                yield member

    def _of_group(self, group: Result) -> Iterator[str]:
        without_value: list[str] = []
        zero: list[str] = []
        bad: list[str] = []
        refused_whole: list[str] = []
        for member in self._member_results(group):
            if member.is_refused_whole:
                refused_whole.append(member.task)
            if member.task not in group.weights:
                # all its samples are bad
                if member.faulty and member.faulty == member.n - member.unsupported:
                    bad.append(member.task)
            elif is_unsupported(member):
                zero.append(member.task)
            elif member.value is None:
                counts = missing(replace(member, bounds=None))
                without_value.append(
                    f"{member.task} ({counts})" if counts else member.task
                )
        for name in group.weights:
            if (name, group.metric) not in self._whole:
                without_value.append(f"{name} (not asked)")
        if group.value is None and 0 < len(without_value) < len(group.weights):
            yield f"no value without {listed(without_value, MAX_NAMED)}"
        if zero:
            yield f"counted as 0: {listed(zero, MAX_NAMED)}"
        if bad:
            yield f"left out, all samples bad: {listed(bad, MAX_NAMED)}"
        if refused_whole and group.value is not None:
            yield f"left out, all refused: {listed(refused_whole, MAX_NAMED)}"

    def _member_results(self, group: Result) -> Iterator[Result]:
        for name in self._members[group.task]:
            member = self._whole.get((name, group.metric))
            if member is not None:
                yield member


def _without(pieces: Sequence[str]) -> str:
    return f"partial: without {listed(pieces, MAX_NAMED)}" if pieces else ""


def repeated(results: Iterable[Result], pieces: Pieces) -> set[Key]:
    """Returns the numbers that tables leave out and results files keep.

    These numbers are single pieces that equal their derived number, and numbers of
    slices that are unavailable for the entire task or have nothing to score.
    """
    by_key = {Key.of(result): result for result in results}
    left_out = set()
    for key, result in by_key.items():
        if key.slice and is_none(by_key.get(key._replace(slice=""))):
            left_out.add(key)
        own_pieces = list(pieces.get((key.task, key.metric), ()))
        if len(own_pieces) != 1 or own_pieces[0] == key.metric:
            continue
        piece = key._replace(metric=own_pieces[0])
        if piece in by_key and _NUMBERS(by_key[piece]) == _NUMBERS(result):
            left_out.add(piece)
    return left_out


def is_none(whole: Result | None) -> bool:
    """Returns True if no trial of a task has the number, and none is unscored."""
    if whole is None or whole.scored or whole.unscored:
        return False
    return whole.unavailable > 0 or whole.has_nothing_to_score


def is_unavailable(whole: Result | None) -> bool:
    """Returns True if the number of a task is unavailable, with no trial scored or
    unscored."""
    return whole is not None and whole.unavailable > 0 and is_none(whole)
