"""Decides which trial a rater rates next. Nothing here reads a clock or a disk."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mmeval.trust.annotate.trials import TrialToRate
from mmeval.trust.records import Value

AGAIN_GAP = 10
"""The least number of other ratings between the two passes of a trial."""
HELD_SECONDS = 1800.0
"""A trial that a rater has opened is kept from others for this time."""


@dataclass(frozen=True)
class SessionOptions:
    """Who rates how much.

    ``raters`` are the names of the raters; it is empty if anyone with the link may
    rate. ``overlap`` is the number of raters of each trial. ``again`` is the share of
    a rater's trials that are shown twice. With ``adjudicate``, a further rater rates
    the trials on which the raters differ. ``per_rater`` is the largest number of trials
    of a rater (None: no limit).
    """

    raters: tuple[str, ...]
    overlap: int
    again: float = 0.0
    adjudicate: bool = False
    per_rater: int | None = None
    seed: int = 0


class Assignment(NamedTuple):
    """A trial, by its place in the list of trials, at one pass."""

    place: int
    pass_number: int


@dataclass
class RaterProgress:
    """What a rater has rated. ``at`` maps each rating to the number of ratings before
    it. ``order`` is the rater's own order of trials."""

    order: Sequence[int]
    at: dict[Assignment, int] = field(default_factory=dict)
    current: Assignment | None = None
    turned: dict[Assignment, bool] = field(default_factory=dict)
    """For each pair that was shown: True if the second run stood first."""

    @property
    def first_passes(self) -> int:
        """The number of trials that the rater has rated."""
        return sum(1 for assignment in self.at if assignment.pass_number == 1)


class Assignments:
    """The state of a session: what each rater has rated, and what is open."""

    def __init__(self, trials: Sequence[TrialToRate], options: SessionOptions) -> None:
        self._trials = trials
        self._options = options
        self._raters: dict[str, RaterProgress] = {}
        self._values: list[dict[str, Value]] = [{} for _ in trials]
        self._held: dict[int, dict[str, float]] = {}

    def of(self, rater: str) -> RaterProgress:
        """Returns the progress of a rater."""
        if rater not in self._raters:
            ranked = []
            for place, trial in enumerate(self._trials):
                rank = _hash(self._options.seed, rater, *trial.key)
                ranked.append((rank, place))
            order = [place for _, place in sorted(ranked)]
            self._raters[rater] = RaterProgress(order)
        return self._raters[rater]

    def add(self, rater: str, assignment: Assignment, value: Value) -> None:
        """Notes a rating that is on disk."""
        progress = self.of(rater)
        progress.at.setdefault(assignment, len(progress.at))
        if assignment == progress.current:
            progress.current = None
        if assignment.pass_number == 1:
            self._values[assignment.place][rater] = value
            self._held.get(assignment.place, {}).pop(rater, None)

    def next(self, rater: str, now: float) -> Assignment | None:
        """Returns what the rater rates next, or None if nothing is open.

        The same trial is returned until the rater has rated it.
        """
        progress = self.of(rater)
        if progress.current is None:
            progress.current = self._next(rater, progress, now)
        if progress.current is not None and progress.current.pass_number == 1:
            self._held.setdefault(progress.current.place, {})[rater] = now
        return progress.current

    def _next(
        self, rater: str, progress: RaterProgress, now: float
    ) -> Assignment | None:
        for assignment in self._due_again(rater, progress):
            if len(progress.at) - progress.at[_first(assignment)] > AGAIN_GAP:
                return assignment
        most = self._options.per_rater
        if most is None or progress.first_passes < most:
            for place in progress.order:
                if self._is_open(place, rater, now):
                    return Assignment(place, 1)
        # nothing else is left to lie between the two passes
        return next(self._due_again(rater, progress), None)

    def _due_again(self, rater: str, progress: RaterProgress) -> Iterator[Assignment]:
        """Yields the second passes that the rater has not rated yet."""
        if not self._options.again:
            return
        for place, pass_number in progress.at:
            again = Assignment(place, 2)
            if pass_number == 2 or again in progress.at:
                continue
            drawn = _hash(self._options.seed, "again", rater, *self._trials[place].key)
            if drawn < self._options.again:
                yield again

    def _is_open(self, place: int, rater: str, now: float) -> bool:
        values = self._values[place]
        if rater in values:
            return False
        if self._trials[place].gold is not None:
            return True
        holders = 0
        for holder, since in self._held.get(place, {}).items():
            if holder != rater and now - since < HELD_SECONDS:
                holders += 1
        return len(values) + holders < self._needed(values)

    def _needed(self, values: dict[str, Value]) -> int:
        """Returns the number of raters that a trial needs."""
        overlap = self._options.overlap
        if not self._options.adjudicate or len(values) < overlap:
            return overlap
        first = list(values.values())[:overlap]
        return overlap if len(set(first)) == 1 else overlap + 1

    def is_turned(self, rater: str, assignment: Assignment) -> bool:
        """Returns True if the pair's second run is shown first.

        Each rater sees each run first equally often, in a random order. The second pass
        of a pair is turned round.
        """
        turned = self.of(rater).turned
        if assignment not in turned:
            excess = sum(1 if is_turned else -1 for is_turned in turned.values())
            key = self._trials[assignment.place].key
            if assignment.pass_number == 2:
                turned[assignment] = not turned[_first(assignment)]
            elif excess:
                turned[assignment] = excess < 0
            else:
                draw = _hash(self._options.seed, "side", rater, *key)
                turned[assignment] = draw < 0.5
        return turned[assignment]

    def remaining(self, rater: str, now: float) -> int:
        """Returns the number of trials that are open for a rater, at most."""
        progress = self.of(rater)
        open_trials = 0
        for place in progress.order:
            if self._is_open(place, rater, now):
                open_trials += 1
        most = self._options.per_rater
        if most is not None:
            open_trials = min(open_trials, max(0, most - progress.first_passes))
        return open_trials + sum(1 for _ in self._due_again(rater, progress))

    @property
    def raters(self) -> dict[str, RaterProgress]:
        """The progress of each rater who has opened the page or has rated."""
        return self._raters


def _first(assignment: Assignment) -> Assignment:
    return Assignment(assignment.place, 1)


def _hash(seed: int, *names: str) -> float:
    """Returns a number from 0 to 1 that depends on all names."""
    words = "\0".join([str(seed), *names]).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(words, digest_size=7).digest()) / 2**56
