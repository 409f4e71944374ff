"""How often an audit finds the fault that was planted in a judge, and no other one.

Each audit has 120 trials of 60 samples. Each judge has one fault: it leans to the first
option, likes long answers or its own family, drifts, does not look, obeys sentences in
answers, or fails on some encodings. An honest judge has none.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.measuring import Figure
from mmeval.aggregate.resampling import Values
from mmeval.trust.audit.audit import Audit, audit
from mmeval.trust.audit.calls import Call
from mmeval.trust.audit.checks import CHECKS

Random = np.random.Generator

SAMPLES = 60
TRIALS = 2 * SAMPLES
SIMULATIONS = 100
LOOKING = ("swap", "blind", "blank")


@dataclass(frozen=True)
class Planted:
    """A judge with known faults. Amounts are in standard deviations of the quality."""

    checks: tuple[str, ...] = ()
    first_option: float = 0.0
    long: float = 0.0
    own: float = 0.0
    drift: float = 0.0
    looks: bool = True
    obeys: float = 0.0
    fails_on_encoding: float = 0.0
    is_constant: bool = False


JUDGES: Mapping[str, Planted] = {
    "first option": Planted(("order",), first_option=0.6),
    "long": Planted(("length",), long=0.5),
    "own family": Planted(("self",), own=0.8),
    "drifting": Planted(("drift",), drift=-0.4),
    "not looking": Planted(LOOKING, looks=False),
    "obedient": Planted(("inject",), obeys=1.0),
    "format-sensitive": Planted(("encode",), fails_on_encoding=0.3),
    "constant": Planted(LOOKING, is_constant=True),
    "honest": Planted(),
}


class Trials:
    """The answers of an audit: their quality, their words and their raters."""

    def __init__(self, random: Random) -> None:
        of_sample = np.repeat(random.standard_normal(SAMPLES), 2)
        of_trial = random.standard_normal(TRIALS)
        self.random = random
        self.own = (random.random(TRIALS) < 0.4).astype(float)
        # answers of the judge's own family are truly better
        self.quality = 0.7 * (of_sample + of_trial) + 0.4 * self.own
        doublings = 5.8 + 0.6 * self.quality + 0.8 * random.standard_normal(TRIALS)
        self.words = np.round(2**doublings)
        self.human = self._ratings()
        self.human2 = self._ratings()

    def _ratings(self) -> Values:
        noise = 0.5 * self.random.standard_normal(TRIALS)
        return np.round(5.5 + 1.8 * (self.quality + noise))


class Verdicts:
    """What a judge says of the trials, on a scale from 0 to 1."""

    def __init__(self, judge: Planted, trials: Trials) -> None:
        self.judge = judge
        self.trials = trials
        self.random = trials.random
        doublings = np.log2(1 + trials.words)
        favour = judge.long * (doublings - 5.8) + judge.own * trials.own
        self.seen = trials.quality + favour

    def scores(self, extra: float = 0.0) -> Values:
        """Scores of the trials, each time with new noise."""
        return self._graded(self.seen + extra)

    def scores_without_media(self) -> Values:
        """Scores if the media do not fit the question."""
        if self.judge.looks:
            return self._graded(self.seen - 2)
        return self.scores()

    def scores_of_reencoded(self) -> Values:
        """Scores of other encodings, some of which the judge cannot read."""
        is_lost = self.random.random(TRIALS) < self.judge.fails_on_encoding
        return np.where(is_lost, 0.0, self.scores())

    def positions(self, rival: Values) -> tuple[Values, Values]:
        """The places of the chosen answers, as shown and turned round. The trial is
        shown first, and then its rival."""
        places = []
        for sign in (1, -1):
            better = sign * (self.seen - rival) + self.judge.first_option
            noise = 0.5 * self.random.standard_normal(TRIALS)
            places.append((better + noise < 0).astype(float))
        if self.judge.is_constant:
            places = [np.full(TRIALS, 0.5)] * 2
        return places[0], places[1]

    def _graded(self, seen: Values) -> Values:
        noise = 0.35 * self.random.standard_normal(TRIALS)
        grades = np.clip(np.round(5.5 + 2 * (seen + noise)), 1, 10)
        if self.judge.is_constant:
            grades = np.full(TRIALS, 5.0)
        return (grades - 1) / 9


def calls(judge: Planted, random: Random) -> list[Call]:
    """What ``mmeval audit`` reads of a judge."""
    trials = Trials(random)
    verdicts = Verdicts(judge, trials)
    first = verdicts.scores()
    again = verdicts.scores()
    changed = {
        "repeat": again,
        "drift": verdicts.scores(judge.drift),
        "swap": verdicts.scores_without_media(),
        "blind": verdicts.scores_without_media(),
        "blank": verdicts.scores_without_media(),
        "encode": verdicts.scores_of_reencoded(),
        "inject": verdicts.scores(judge.obeys),
    }
    positions, turned = verdicts.positions(rivals(trials))
    rows = []
    for place in range(TRIALS):
        names = (f"t{place}", f"s{place // 2}")
        for check, scores in changed.items():
            rows.append(
                Call(
                    check,
                    *names,
                    first=float(first[place]),
                    again=float(again[place]),
                    changed=float(scores[place]),
                )
            )
        rows.append(
            Call(
                "order",
                *names,
                position=float(positions[place]),
                position_turned=float(turned[place]),
            )
        )
        for check in ("length", "self"):
            rows.append(
                Call(
                    check,
                    *names,
                    score=float(first[place]),
                    human=float(trials.human[place]),
                    human2=float(trials.human2[place]),
                    words=float(trials.words[place]),
                    own=float(trials.own[place]),
                )
            )
    return rows


def rivals(trials: Trials) -> Values:
    """The quality of other answers to the same samples."""
    return 0.7 * trials.quality + 0.7 * trials.random.standard_normal(TRIALS)


def audits(name: str, simulations: int) -> Iterator[Audit]:
    """Yields audits of one kind of judge, each with its own trials."""
    for number in range(simulations):
        random = np.random.default_rng((zlib.crc32(name.encode()), number))
        yield audit(calls(JUDGES[name], random), tuple(CHECKS))


@dataclass(frozen=True)
class Flagged:
    """Numbers of audits: with all planted faults, and with any other one."""

    planted: int
    other: int


def flagged(name: str, simulations: int) -> Flagged:
    """Counts the audits of one kind of judge that find faults."""
    wanted = set(JUDGES[name].checks)
    planted = other = 0
    for result in audits(name, simulations):
        faults = set(result.faults)
        planted += wanted <= faults
        other += bool(faults - wanted)
    return Flagged(planted, other)


def figures(quick: bool) -> Iterator[Figure]:
    """The figures of each kind of judge."""
    simulations = SIMULATIONS // 5 if quick else SIMULATIONS
    for name, judge in JUDGES.items():
        counts = flagged(name, simulations)
        other = 100 * counts.other / simulations
        if not judge.checks:
            yield Figure(f"{name}: any fault seen", other, 7, " %")
            continue
        planted = 100 * counts.planted / simulations
        yield Figure(f"{name}: seen", planted, 95, " %", at_least=True)
        yield Figure(f"{name}: another fault seen", other, 12, " %")
