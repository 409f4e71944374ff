"""Divides a run's UniM trials into slices, one for each row of the paper's tables.

The sums are computed in plain loops over columns, so that the tables at the end of a
run do not import numpy.
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
    DomainPlace,
    Pool,
)


class Slice(NamedTuple):
    """The sums of each number over some trials, and the counts of trials by state.

    ``whole`` is the count of trials with all required numbers. ``unscored`` trials have
    lost some numbers. ``unavailable`` trials lack numbers that cannot be computed on
    this machine. Together with ``unsupported``, ``failed`` and ``bad``, these counts
    add up to ``trials``. Bad trials are not in the sums.
    """

    sums: Mapping[str, Sums]
    trials: int
    whole: int
    unsupported: int
    failed: int
    unscored: int
    unavailable: int
    bad: int


class SliceCodes(NamedTuple):
    """The code of each trial's slice, or -1 for a trial that is in no slice.

    A trial in several slices is listed once for each slice. ``weights`` are the weights
    of the trials in their slices.
    """

    codes: Sequence[int]
    trials: Sequence[int]
    weights: Sequence[float]

    @classmethod
    def of(cls, codes: Sequence[int]) -> SliceCodes:
        weights = array("d", [1.0]) * len(codes)
        return cls(codes, range(len(codes)), weights)


class Columns:
    """Divides the trials of a pool into slices."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    def scored_numbers(self) -> list[str]:
        """Returns the numbers that at least one trial of the run has."""
        numbers = []
        for place, name in enumerate(NUMBERS):
            states = self._pool.states[place :: len(NUMBERS)]
            if SCORED in states or UNSCORED in states:
                numbers.append(name)
        return numbers

    def everything(self) -> SliceCodes:
        """Returns all trials as one slice."""
        return SliceCodes.of(array("q", [0]) * len(self._pool))

    def by_label(self, label: str) -> SliceCodes:
        """Divides the trials by ``place``, ``difficulty`` or ``combination``."""
        return SliceCodes.of(self._pool.codes[label])

    def by_difficulty_and(self, fields: Sequence[int]) -> SliceCodes:
        """Divides the trials by difficulty and field.

        ``fields`` contains the code of the field for each place. The code of a slice is
        the code of the difficulty times the number of fields, plus the code of the
        field.
        """
        field_count = max(fields, default=0) + 1
        codes = array("q")
        labels = self._pool.codes
        for level, place in zip(labels["difficulty"], labels["place"], strict=True):
            is_known = level >= 0 and place >= 0
            codes.append(level * field_count + fields[place] if is_known else -1)
        return SliceCodes.of(codes)

    def by_capability(self, *, soft: bool) -> SliceCodes:
        """Divides the trials by capability, with weight 1.

        With ``soft`` each trial has the weight of its capability label instead.
        """
        trials, codes, weights = self._pool.capability_labels
        if not soft:
            weights = array("d", [1.0]) * len(codes)
        return SliceCodes(codes, trials, weights)

    def slices(
        self,
        slice_codes: SliceCodes,
        count: int,
        numbers: Sequence[str],
        required: Iterable[str],
    ) -> list[Slice]:
        """Returns ``count`` slices with the sums of ``numbers``.

        Trials with all ``required`` numbers are counted as ``whole``.
        """
        sums = [_SliceSums(len(numbers)) for _ in range(count)]
        positions = [NUMBERS.index(name) for name in numbers]
        required_names = set(required)
        counted = []
        for number, name in enumerate(numbers):
            if name in required_names:
                counted.append(number)
        trials, states, values = self._pool.trials, self._pool.states, self._pool.values
        for code, trial, weight in zip(*slice_codes, strict=True):
            if code >= 0:
                first = trial * len(NUMBERS)
                trial_states = [states[first + position] for position in positions]
                trial_values = [values[first + position] for position in positions]
                sums[code].add(
                    trials[trial], trial_states, trial_values, weight, counted
                )
        return [slice_sums.slice(numbers) for slice_sums in sums]


class _SliceSums:
    """Accumulates the sums of a slice while trials are added."""

    __slots__ = ("asked", "counts", "scored", "supported", "totals")

    def __init__(self, numbers: int) -> None:
        self.asked = self.supported = 0.0
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
        required_states = [states[number] for number in counted]
        if trial in _OUTCOMES:
            outcome = _OUTCOMES[trial]
        elif UNSCORED in required_states:
            outcome = _UNSCORED
        else:
            outcome = _UNAVAILABLE if UNAVAILABLE in required_states else _WHOLE
        self.counts[0] += 1
        self.counts[outcome] += 1
        if trial == BAD:
            return
        self.asked += weight
        if trial != UNSUPPORTED:
            self.supported += weight
            for number, state in enumerate(states):
                if state == SCORED:
                    self.scored[number] += weight
                    self.totals[number] += weight * values[number]

    def slice(self, numbers: Sequence[str]) -> Slice:
        sums = {}
        for name, scored, total in zip(numbers, self.scored, self.totals, strict=True):
            sums[name] = Sums(self.asked, self.supported, scored, total)
        return Slice(sums, *self.counts)


_WHOLE, _UNSUPPORTED, _FAILED, _UNSCORED, _UNAVAILABLE, _BAD = range(1, 7)
"""The indices of the counts in a slice, after the count ``trials``."""
_OUTCOMES = {UNSUPPORTED: _UNSUPPORTED, FAILED: _FAILED, BAD: _BAD}
"""The index of the count for each state of a trial without scores."""


def together(slices: Sequence[Slice]) -> Slice:
    """Joins one or more slices that have no trials in common."""
    sums = {}
    for name in slices[0].sums:
        number_sums = [part.sums[name] for part in slices]
        sums[name] = Sums(*map(sum, zip(*number_sums, strict=True)))
    counts = zip(*[part[1:] for part in slices], strict=True)
    return Slice(sums, *map(sum, counts))


def in_order(places: Mapping[DomainPlace, int]) -> list[DomainPlace]:
    """Sorts places in the paper's order. Unknown places come last, by name."""
    fields = list(FIELDS)

    def key(place: DomainPlace) -> tuple[int, float, DomainPlace]:
        known = domain_of(place.domain)
        number = math.inf if known is None else known.number
        is_field = place.field in fields
        return (
            fields.index(place.field) if is_field else len(fields),
            number,
            place,
        )

    return sorted(places, key=key)
