"""How often numbers carried over to a new judge are right: five runs, 400 samples, 60
of them judged anew, by known rules.

New judges are lenient, nonlinear, favour one run, or have nothing to do with the old
judge. The intervals of values and of differences should hold the truth in 95 % of
cases, and a pair of runs should hardly ever be called better in the wrong direction.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import numpy as np

from benchmarks.measuring import Figure
from mmeval.aggregate.resampling import Values
from mmeval.trust.bridge import Bridge, bridge
from mmeval.trust.records import Draw, ScoreRow

Random = np.random.Generator

QUALITY = (0.0, 0.15, 0.3, 0.45, 0.6)
SAMPLES = 400
ASKED = 60
SIMULATIONS = 1_000
TRUE_BY = 400_000
"""The true mean of the new judge is that over this number of samples."""
LEVEL = 0.05
RANDOM = Draw("random")
RUNS = tuple(f"run {number}" for number in range(len(QUALITY)))


class Verdicts(NamedTuple):
    """What both judges say: a row for each sample, a column for each run."""

    old: Values
    new: Values


Judge = Callable[[Random, Values], Values]


def lenient(random: Random, quality: Values) -> Values:
    return _grade(random, 5.5 + 1.5 * quality)


def nonlinear(random: Random, quality: Values) -> Values:
    return _grade(random, 3 + 5 * np.tanh(quality - 0.3) ** 2 + 1.2 * quality)


def favouring(random: Random, quality: Values) -> Values:
    extra = np.zeros(len(QUALITY))
    extra[0] = 1.2
    return _grade(random, 5.5 + 1.5 * quality + extra)


def unrelated(random: Random, quality: Values) -> Values:
    means = 5.5 + np.array(QUALITY) * np.ones(quality.shape)
    return _grade(random, means + 1.5 * random.standard_normal(quality.shape))


def _grade(random: Random, means: Values) -> Values:
    """Grades from 1 to 10."""
    noise = 0.7 * random.standard_normal(means.shape)
    return np.clip(np.round(means + noise), 1, 10)


JUDGES: Mapping[str, Judge] = {
    "lenient": lenient,
    "nonlinear": nonlinear,
    "favouring": favouring,
    "unrelated": unrelated,
}


def verdicts(random: Random, judge: Judge, samples: int) -> Verdicts:
    """Answers of runs to the same samples, which are hard or easy for all."""
    ease = random.standard_normal((samples, 1))
    own = random.standard_normal((samples, len(QUALITY)))
    quality = np.array(QUALITY) + 0.7 * ease + 0.7 * own
    old = _grade(random, 4.5 + 1.5 * quality)
    return Verdicts(old, judge(random, quality))


def bridged(random: Random, both: Verdicts, asked: int = ASKED) -> Bridge:
    """What ``mmeval bridge`` computes from a random sample of the new verdicts."""
    samples = len(both.old)
    drawn = set(random.choice(samples, asked, replace=False).tolist())
    rows = []
    for place, run in enumerate(RUNS):
        for sample in range(samples):
            trial = f"s{sample}"
            old = float(both.old[sample, place])
            rows.append(ScoreRow(trial, "old", old, run=run))
            if sample in drawn:
                new = float(both.new[sample, place])
                rows.append(ScoreRow(trial, "new", new, run=run, draw=RANDOM))
    return bridge(rows, "old", "new")


class Outcome(NamedTuple):
    """Shares of simulations, or of all values and pairs in them. ``stderr`` is that
    over the error of the new verdicts alone."""

    values_held: float
    differences_held: float
    wrong_sign: float
    favouring_seen: float
    stderr: float


def outcome(name: str, simulations: int) -> Outcome:
    """Simulates one kind of new judge."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    truth = verdicts(random, JUDGES[name], TRUE_BY).new.mean(axis=0)
    values = differences = wrong = seen = 0
    errors = []
    for _ in range(simulations):
        both = verdicts(random, JUDGES[name], SAMPLES)
        result = bridged(random, both)
        for run, true_value in zip(result.runs, truth, strict=True):
            assert run.new is not None
            assert run.new.ci95 is not None
            values += run.new.ci95[0] <= true_value <= run.new.ci95[1]
        for pair, (a, b) in zip(
            result.pairs, combinations(range(len(RUNS)), 2), strict=True
        ):
            difference = truth[b] - truth[a]
            assert pair.new.ci95 is not None
            differences += pair.new.ci95[0] <= difference <= pair.new.ci95[1]
            is_decided = pair.verdict != "open"
            wrong += is_decided and pair.new.value * difference < 0
        assert result.homogeneity is not None
        seen += result.homogeneity.p < LEVEL
        assert result.runs[0].new is not None
        alone = both.new[:, 0].std(ddof=1) / np.sqrt(ASKED)
        errors.append(result.runs[0].new.stderr / alone)
    pairs = simulations * len(RUNS) * (len(RUNS) - 1) / 2
    return Outcome(
        float(values) / (simulations * len(RUNS)),
        float(differences) / pairs,
        float(wrong) / pairs,
        seen / simulations,
        float(np.mean(errors)),
    )


def figures(quick: bool) -> Iterator[Figure]:
    """The figures of each kind of new judge."""
    simulations = SIMULATIONS // 10 if quick else SIMULATIONS
    for name in JUDGES:
        found = outcome(name, simulations)
        for what, share in (
            ("values", found.values_held),
            ("differences", found.differences_held),
        ):
            yield Figure(f"{name}: {what} held", 100 * share, 92, " %", at_least=True)
            yield Figure(f"{name}: {what} held at most", 100 * share, 97, " %")
        yield Figure(f"{name}: wrong sign", 100 * found.wrong_sign, 1, " %")
        yield Figure(f"{name}: error over new verdicts alone", found.stderr)
        seen = 100 * found.favouring_seen
        if name == "favouring":
            yield Figure(f"{name}: seen to favour", seen, 95, " %", at_least=True)
        elif name == "lenient":
            yield Figure(f"{name}: seen to favour", seen, 8, " %")
