"""Slices of a run's UniM trials: the trials of each row of the paper's tables.

Plain loops over columns: a run ends with these tables, and should not import numpy for
them.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from mmeval.tasks.unim.domains import FIELDS, domain_of
from mmeval.tasks.unim.tables.averages import Sums
from mmeval.tasks.unim.tables.pool import (
    BAD,
    FAILED,
    NUMBERS,
    SCORED,
    UNAVAILABLE,
    UNSCORED,
    UNSUPPORTED,
    Place,
    Pool,
)


class Slice(NamedTuple):
    """The sums of each number over some trials, and the states of the trials. ``whole``
    have all of the requested numbers, ``unscored`` lost some of them, ``unavailable``
    are others without a number that is unavailable here; with ``unsupported``,
    ``failed`` and ``bad`` they are all of the ``trials``. The ``bad`` ones, which could
    not be asked because of their own data, are in no sum."""

    sums: Mapping[str, Sums]
    trials: int
    whole: int
    unsupported: int
    failed: int
    unscored: int
    unavailable: int
    bad: int


class Rows(NamedTuple):
    """The slice of each trial (-1: none); a trial in several slices is repeated.
    ``weights`` are those of the trials in their slices."""

    codes: Sequence[int]
    trials: Sequence[int]
    weights: Sequence[float]

    @classmethod
    def of(cls, codes: Sequence[int]) -> Rows:
        weights = array("d", [1.0]) * len(codes)
        return cls(codes, range(len(codes)), weights)


class Columns:
    """The trials of a pool, to be divided into slices."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def given(self) -> list[str]:
        """The numbers that some trial of the run has."""
        given = []
        for place, name in enumerate(NUMBERS):
            states = self._pool.states[place :: len(NUMBERS)]
            if SCORED in states or UNSCORED in states:
                given.append(name)
        return given

    def everything(self) -> Rows:
        """All trials as one slice."""
        return Rows.of(array("q", [0]) * len(self._pool))

    def by_label(self, label: str) -> Rows:
        """The trials by place, difficulty or combination."""
        return Rows.of(self._pool.codes[label])

    def by_difficulty_and(self, fields: Sequence[int]) -> Rows:
        """The trials by difficulty and field (``fields``: that of each place).
        Numbered as the difficulty times the number of all fields, plus the field."""
        many = max(fields, default=0) + 1
        codes = array("q")
        labels = self._pool.codes
        for level, place in zip(labels["difficulty"], labels["place"], strict=True):
            is_known = level >= 0 and place >= 0
            codes.append(level * many + fields[place] if is_known else -1)
        return Rows.of(codes)

    def by_capability(self, *, soft: bool) -> Rows:
        """The trials by capability, each in all of its own, with weight 1 or its
        label's."""
        trials, codes, weights = self._pool.capable
        if not soft:
            weights = array("d", [1.0]) * len(codes)
        return Rows(codes, trials, weights)

    def slices(
        self, rows: Rows, many: int, numbers: Sequence[str], asked_about: Iterable[str]
    ) -> list[Slice]:
        """``many`` slices with sums of numbers; a whole trial has all
        ``asked_about``."""
        growing = [_Growing(len(numbers)) for _ in range(many)]
        places = [NUMBERS.index(name) for name in numbers]
        asked = set(asked_about)
        counted = [at for at, name in enumerate(numbers) if name in asked]
        trials, states, values = self._pool.trials, self._pool.states, self._pool.values
        for code, trial, weight in zip(*rows, strict=True):
            if code >= 0:
                first = trial * len(NUMBERS)
                own_states = [states[first + place] for place in places]
                own_values = [values[first + place] for place in places]
                growing[code].add(
                    trials[trial], own_states, own_values, weight, counted
                )
        return [one.slice(numbers) for one in growing]


class _Growing:
    """A slice while trials are added to it."""

    __slots__ = ("asked", "counts", "scored", "taken", "totals")

    def __init__(self, numbers: int) -> None:
        self.asked = self.taken = 0.0
        self.scored, self.totals = [0.0] * numbers, [0.0] * numbers
        self.counts = [0] * (len(Slice._fields) - 1)

    def add(
        self,
        trial: int,
        states: Sequence[int],
        values: Sequence[float],
        weight: float,
        counted: Sequence[int],
    ) -> None:
        own = [states[at] for at in counted]
        if trial in _OUTCOMES:
            outcome = _OUTCOMES[trial]
        elif UNSCORED in own:
            outcome = _UNSCORED
        else:
            outcome = _UNAVAILABLE if UNAVAILABLE in own else _WHOLE
        self.counts[0] += 1
        self.counts[outcome] += 1
        if trial == BAD:
            return
        self.asked += weight
        if trial != UNSUPPORTED:
            self.taken += weight
            for at, state in enumerate(states):
                if state == SCORED:
                    self.scored[at] += weight
                    self.totals[at] += weight * values[at]

    def slice(self, numbers: Sequence[str]) -> Slice:
        sums = {}
        for name, scored, total in zip(numbers, self.scored, self.totals, strict=True):
            sums[name] = Sums(self.asked, self.taken, scored, total)
        return Slice(sums, *self.counts)


_WHOLE, _UNSUPPORTED, _FAILED, _UNSCORED, _UNAVAILABLE, _BAD = range(1, 7)
"""The counts of a slice after ``trials``, in their order."""
_OUTCOMES = {UNSUPPORTED: _UNSUPPORTED, FAILED: _FAILED, BAD: _BAD}
"""The counts of the trials without scores."""


def together(slices: Sequence[Slice]) -> Slice:
    """Join one or more slices without common trials."""
    sums = {}
    for name in slices[0].sums:
        parts = [one.sums[name] for one in slices]
        sums[name] = Sums(*map(sum, zip(*parts, strict=True)))
    counts = zip(*[one[1:] for one in slices], strict=True)
    return Slice(sums, *map(sum, counts))


def in_order(places: Mapping[Place, int]) -> list[Place]:
    """Places in the order of the paper; unknown ones come last, by name."""
    fields = list(FIELDS)

    def key(place: Place) -> tuple[int, float, Place]:
        known = domain_of(place.domain)
        number = math.inf if known is None else known.number
        is_field = place.field in fields
        return (
            fields.index(place.field) if is_field else len(fields),
            number,
            place,
        )

    return sorted(places, key=key)
