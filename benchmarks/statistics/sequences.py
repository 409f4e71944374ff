"""How often someone who looks at a growing number of ratings ever sees an interval that
misses the truth: 38 looks from 30 to 400 ratings of 4,000 trials.

Of the sequence of ``mmeval calibrate --sequence``, at most 5 % of all paths should. The
ordinary interval is made for one look; the figures show what becomes of it with 38.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from benchmarks.measuring import Figure
from benchmarks.statistics.corrections import JUDGES, TRIALS, UNIT, Random
from mmeval.trust.correction.estimate import corrected
from mmeval.trust.correction.rated_trials import Range, RatedTrials
from mmeval.trust.correction.sequence import confidence_sequence

LOOKS = range(30, 401, 10)
PATHS = 400


class Misses(NamedTuple):
    """Shares of paths on which some look shows an interval that misses the truth."""

    sequence: float
    ordinary: float


def misses(judge: str, paths: int) -> Misses:
    random = np.random.default_rng(zlib.crc32(judge.encode()))
    by_sequence = by_ordinary = 0
    for _ in range(paths):
        has_missed = _one_path(random, judge)
        by_sequence += has_missed.sequence > 0
        by_ordinary += has_missed.ordinary > 0
    return Misses(by_sequence / paths, by_ordinary / paths)


def _one_path(random: Random, judge: str) -> Misses:
    """Counts the looks of one path at which the intervals miss the mean of the run."""
    judged = JUDGES[judge](random, random.standard_normal(TRIALS))
    truth = float(judged.human.mean())
    order = random.permutation(TRIALS)[: LOOKS[-1]]
    nothing = RatedTrials(
        proxies=judged.judge[:, np.newaxis],
        human=np.full(TRIALS, np.nan),
        weights=np.ones(TRIALS),
        strata=np.zeros(TRIALS, dtype=np.intp),
        clusters=np.arange(TRIALS),
    )
    sequence_misses = ordinary_misses = 0
    for look in LOOKS:
        rated = order[:look]
        human = nothing.human.copy()
        human[rated] = judged.human[rated]
        trials = replace(nothing, human=human)
        sequence = confidence_sequence(trials, rated.tolist(), UNIT)
        sequence_misses += _misses(sequence.ci95, truth)
        ordinary_misses += _misses(corrected(trials, UNIT).ci95_run, truth)
    return Misses(sequence_misses, ordinary_misses)


def _misses(ends: Range | None, truth: float) -> bool:
    return ends is not None and not ends[0] <= truth <= ends[1]


def figures(quick: bool) -> Iterator[Figure]:
    """The share of paths with a miss, for each judge."""
    paths = PATHS // 10 if quick else PATHS
    for judge in JUDGES:
        found = misses(judge, paths)
        yield Figure(
            f"{judge}: missed at some look",
            100 * found.sequence,
            5,
            " %",
            note=f"ordinary interval {100 * found.ordinary:.0f} %",
        )
