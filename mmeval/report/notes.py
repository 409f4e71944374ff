"""What a number lacks: the trials it leaves out, and the tasks of a group that have no value."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from mmeval.records.score import Key, Result, is_of_nothing

Pieces = Callable[[str, str], Collection[str]]
"""The outputs of which one number of a task is made, by task and number; empty for one that is not derived."""

NOT_COMPARABLE = "not comparable"

MAX_NAMED = 3
"""So many tasks of a group are named; the others are counted."""


def missing(result: Result) -> str:
    """What a value leaves out and how much that could change it: ``2 failed, 1 unscored, bounds 0.4000 to 0.5500``.
    Where scoring was suspended that is said first, and where nothing was there to be scored, that."""
    counts = [
        (result.failed, "failed"),
        (result.unscored, "unscored"),
        (result.unavailable, "unavailable"),
        (result.inapplicable, "inapplicable"),
        (result.unsupported, "unsupported"),
    ]
    said = ["scoring suspended"] if result.suspended else []
    said += ["nothing to score"] if is_of_nothing(result) else []
    words = ", ".join([*said, *(f"{count} {what}" for count, what in counts if count)])
    if words and result.bounds is not None and (result.failed or result.unscored):
        return f"{words}, bounds {from_to(result.bounds)}"
    return words


def from_to(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.4f} to {pair[1]:.4f}"


Without = Mapping[tuple[str, str], Collection[str]]
"""By task and number, the pieces that a derived number goes without; one that has all of them is left out."""


class NumberReasons:
    """What is to be said of the numbers of tasks and groups besides their counts, from all numbers of a run, the
    members that each group names, and the pieces that numbers go without."""

    def __init__(self, results: Iterable[Result], members: Mapping[str, Collection[str]], without: Without) -> None:
        self._whole = {(result.task, result.metric): result for result in results if not result.slice}
        self._members = members
        self._without = without

    def of(self, result: Result) -> str:
        """Empty where there is nothing to say, and for a slice. Where no task of a group has a value the counts tell
        why."""
        if result.slice:
            return ""
        if result.task not in self._members:
            return "; ".join(self._partial([result]))
        return "; ".join((*self._unknown(result), *self._left_out(result), *self._partial(self._tasks(result))))

    def _partial(self, numbers: Iterable[Result]) -> Iterator[str]:
        """The pieces that some of the numbers go without, where they have a value."""
        lost = (self._without.get((one.task, one.metric), ()) for one in numbers if one.value is not None)
        if pieces := list(dict.fromkeys(piece for own in lost for piece in own)):
            yield f"partial: without {_listed(pieces)}"

    def _tasks(self, group: Result) -> Iterator[Result]:
        """The numbers of the tasks in a group and in the groups in it."""
        for member in self._own(group):
            if member.task in self._members:
                yield from self._tasks(member)
            else:
                yield member

    def _unknown(self, group: Result) -> Iterator[str]:
        """The tasks without which the group has no value, with what became of their trials."""
        counted = [member for member in self._own(group) if member.task in group.weights]
        lost = [member for member in counted if member.value is None]
        if group.value is None and 0 < len(lost) < len(counted):
            yield f"no value without {_listed(_with_counts(member) for member in lost)}"

    def _left_out(self, group: Result) -> Iterator[str]:
        """The tasks whose samples are all bad."""
        bad = [one.task for one in self._own(group) if one.faulty and one.task not in group.weights and _is_bad(one)]
        if bad:
            yield f"left out, all samples bad: {_listed(bad)}"

    def _own(self, group: Result) -> Iterator[Result]:
        found = (self._whole.get((name, group.metric)) for name in self._members[group.task])
        return (member for member in found if member is not None)


def _is_bad(member: Result) -> bool:
    return member.faulty == member.n - member.unsupported


def _with_counts(member: Result) -> str:
    counts = missing(replace(member, bounds=None))
    return f"{member.task} ({counts})" if counts else member.task


def _listed(names: Iterable[str]) -> str:
    names = list(names)
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def lacking_tasks(tasks: Collection[str], left_out: Collection[str]) -> str:
    """How many of a group's tasks do not stand behind its number: ``2 of 14 tasks left out``; empty where all do."""
    absent = set(tasks) & set(left_out)
    return f"{len(absent)} of {len(tasks)} tasks left out" if absent else ""


def weights(result: Result) -> str:
    """The shares of a group's members, where they differ."""
    if len(set(result.weights.values())) < 2:
        return ""
    return "weights: " + ", ".join(f"{name} {share:.4f}" for name, share in result.weights.items())


class _Numbers(NamedTuple):
    value: float | None
    n: int
    scored: int
    failed: int
    unscored: int
    unavailable: int
    unsupported: int
    inapplicable: int


def _numbers(result: Result) -> _Numbers:
    return _Numbers(*(getattr(result, name) for name in _Numbers._fields))


def repeated(results: Iterable[Result], pieces_of: Pieces) -> set[Key]:
    """The numbers that tables leave out: of a piece that alone makes another number, equal to its own; of a slice,
    where the number is unavailable in all of its task, or there is nothing to score. Files of results keep them."""
    known = {Key.of(result): result for result in results}
    found = {key for key in known if key.slice and is_none(known.get(key._replace(slice="")))}
    for key, result in known.items():
        pieces = list(pieces_of(key.task, key.metric))
        if len(pieces) != 1:
            continue
        piece = key._replace(metric=pieces[0])
        if piece in known and piece != key and _numbers(known[piece]) == _numbers(result):
            found.add(piece)
    return found


def is_none(whole: Result | None) -> bool:
    """Whether a number says of a whole task only that it is none: no trial has it, and none has lost it."""
    if whole is None or whole.scored or whole.unscored:
        return False
    return whole.unavailable > 0 or is_of_nothing(whole)


def is_unavailable(whole: Result | None) -> bool:
    """Whether a number was known before the run to be none: not one trial has it, and none has lost it."""
    return whole is not None and whole.unavailable > 0 and is_none(whole)
