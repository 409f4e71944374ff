"""How often corrected numbers are right: 4,000 trials, few of them rated, by known
rules.

Five judges (lenient, noisy, contrary, useless, graded) meet five ways to draw the
ratings. The intervals should hold the true mean in 95 % of cases, and a correction
should never be wider than the ratings alone. ``mmeval calibrate`` does the same.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from benchmarks.measuring import Figure
from mmeval.aggregate.quantiles import normal_share
from mmeval.aggregate.resampling import Values
from mmeval.trust.correction.estimate import corrected, people_alone
from mmeval.trust.correction.rated_trials import Places, RatedTrials

Random = np.random.Generator

TRIALS = 4_000
IN_CLUSTER = 5
SIMULATIONS = 1_000
RATINGS = (50, 200, 500)
UNIT = (0.0, 1.0)
CLUSTER_SHARE = 0.4
"""The share of the variance of quality that trials of a cluster have in common."""
YES_FROM = -0.553
"""Quality from which people say yes: in 71 % of trials."""


class Judged(NamedTuple):
    """What people and the judge say of each trial, and the true mean of people."""

    human: Values
    judge: Values
    truth: float


Judge = Callable[[Random, Values], Judged]


def lenient(random: Random, quality: Values) -> Judged:
    return Judged(_grades(random, quality), _tenths(random, quality, 0.68, 0.2), 0.5)


def noisy(random: Random, quality: Values) -> Judged:
    judge = _tenths(random, quality, 0.5, 0.08, noise=0.22)
    return Judged(_grades(random, quality), judge, 0.5)


def contrary(random: Random, quality: Values) -> Judged:
    return Judged(_grades(random, quality), _tenths(random, quality, 0.5, -0.2), 0.5)


def useless(random: Random, quality: Values) -> Judged:
    human = (quality > YES_FROM).astype(np.float64)
    judge = _tenths(random, quality, 0.5, 0.0, noise=0.25)
    return Judged(human, judge, 1 - normal_share(YES_FROM))


def graded(random: Random, quality: Values) -> Judged:
    judge = _tenths(random, quality, 0.5, 0.25, noise=0.04)
    return Judged(_grades(random, quality), judge, 0.5)


def _grades(random: Random, quality: Values) -> Values:
    """Five grades from 0 to 1; their mean is 0.5, since the rule is symmetric."""
    noise = 0.08 * random.standard_normal(len(quality))
    return np.clip(np.round(4 * (0.5 + 0.25 * quality + noise)) / 4, 0, 1)


def _tenths(
    random: Random, quality: Values, level: float, slope: float, noise: float = 0.08
) -> Values:
    errors = noise * random.standard_normal(len(quality))
    return np.clip(np.round(10 * (level + slope * quality + errors)) / 10, 0, 1)


JUDGES: Mapping[str, Judge] = {
    "lenient": lenient,
    "noisy": noisy,
    "contrary": contrary,
    "useless": useless,
    "graded": graded,
}


class Drawn(NamedTuple):
    """Which trials are rated, with what weight, and the strata of all."""

    places: Places
    weights: Values
    strata: Places


def equal(random: Random, judge: Values, ratings: int) -> Drawn:
    return _unweighted(random.choice(TRIALS, ratings, replace=False))


def whole_clusters(random: Random, judge: Values, ratings: int) -> Drawn:
    clusters = random.choice(TRIALS // IN_CLUSTER, ratings // IN_CLUSTER, replace=False)
    return _unweighted(np.flatnonzero(np.isin(_clusters(), clusters)))


def strata(random: Random, judge: Values, ratings: int) -> Drawn:
    """Equal numbers of ratings where the judge gives low, middle and high scores."""
    low, high = np.quantile(judge, (1 / 3, 2 / 3))
    band = (judge > low).astype(np.intp) + (judge > high)
    names = np.unique(band)
    places = []
    for name in names:
        members = np.flatnonzero(band == name)
        size = min(len(members), ratings // len(names))
        places.append(random.choice(members, size, replace=False))
    return Drawn(np.concatenate(places), np.ones(TRIALS), band)


def weighted(random: Random, judge: Values, ratings: int) -> Drawn:
    """Trials with extreme scores are drawn more often."""
    wish = 0.4 + np.abs(judge - 0.5)
    probability = ratings * wish / wish.sum()
    places = np.flatnonzero(random.random(TRIALS) < probability)
    return Drawn(places, 1 / probability, np.zeros(TRIALS, dtype=np.intp))


def _unweighted(places: Places) -> Drawn:
    return Drawn(places, np.ones(TRIALS), np.zeros(TRIALS, dtype=np.intp))


class Design(NamedTuple):
    """How ratings are drawn, and whether trials share clusters."""

    draw: Callable[[Random, Values, int], Drawn]
    in_clusters: bool = False


DESIGNS: Mapping[str, Design] = {
    "equal": Design(equal),
    "clusters of five": Design(equal, in_clusters=True),
    "whole clusters": Design(whole_clusters, in_clusters=True),
    "strata": Design(strata),
    "weighted": Design(weighted),
}


def _clusters() -> Places:
    return np.arange(TRIALS, dtype=np.intp) // IN_CLUSTER


class Outcome(NamedTuple):
    """Shares of simulations whose intervals hold the truth, and the mean standard error
    as a share of that of the ratings alone."""

    coverage: float
    coverage_run: float
    stderr: float


class Cell(NamedTuple):
    """A design, a judge and a number of ratings."""

    design: str
    judge: str
    ratings: int

    def outcome(self, simulations: int) -> Outcome:
        seed = zlib.crc32(" ".join(map(str, self)).encode())
        random = np.random.default_rng(seed)
        held = held_run = 0
        shares = []
        for _ in range(simulations):
            trials, judged = self._simulated(random)
            estimate = corrected(trials, UNIT)
            alone = people_alone(trials, UNIT)
            held += _holds(estimate.ci95, judged.truth)
            held_run += _holds(estimate.ci95_run, float(judged.human.mean()))
            shares.append(estimate.stderr / alone.stderr)
        return Outcome(
            held / simulations, held_run / simulations, float(np.mean(shares))
        )

    def _simulated(self, random: Random) -> tuple[RatedTrials, Judged]:
        design = DESIGNS[self.design]
        clusters = _clusters() if design.in_clusters else np.arange(TRIALS)
        quality = random.standard_normal(TRIALS)
        if design.in_clusters:
            common = random.standard_normal(TRIALS // IN_CLUSTER)[clusters]
            quality *= math.sqrt(1 - CLUSTER_SHARE)
            quality += math.sqrt(CLUSTER_SHARE) * common
        judged = JUDGES[self.judge](random, quality)
        drawn = design.draw(random, judged.judge, self.ratings)
        human = np.full(TRIALS, math.nan)
        human[drawn.places] = judged.human[drawn.places]
        proxies = judged.judge[:, np.newaxis]
        trials = RatedTrials(proxies, human, drawn.weights, drawn.strata, clusters)
        return trials, judged


def _holds(ends: tuple[float, float] | None, truth: float) -> bool:
    return ends is not None and ends[0] <= truth <= ends[1]


def figures(quick: bool) -> Iterator[Figure]:
    """The worst cells of each number of ratings, and of each design."""
    simulations = SIMULATIONS // 20 if quick else SIMULATIONS
    for ratings in RATINGS:
        outcomes: dict[Cell, Outcome] = {}
        for design in DESIGNS:
            for judge in JUDGES:
                cell = Cell(design, judge, ratings)
                outcomes[cell] = cell.outcome(simulations)
        yield from _coverages(outcomes, ratings, simulations)
        yield from _errors(outcomes, ratings)


def _coverages(
    outcomes: Mapping[Cell, Outcome], ratings: int, simulations: int
) -> Iterator[Figure]:
    # a few simulations may miss by chance: three of their standard errors are allowed
    slack = 0.0
    if simulations < SIMULATIONS:
        slack = 300 * math.sqrt(0.05 * 0.95 / simulations)
    least = (90.0 if ratings < RATINGS[1] else 92.0) - slack
    most = 97.0 if ratings > RATINGS[0] and not slack else None
    for design in DESIGNS:
        cells = [cell for cell in outcomes if cell.design == design]
        lowest = min(cells, key=lambda cell: outcomes[cell].coverage)
        highest = max(cells, key=lambda cell: outcomes[cell].coverage)
        of_run = min(outcomes[cell].coverage_run for cell in cells)
        yield Figure(
            f"{ratings} ratings, {design}: truth held",
            100 * outcomes[lowest].coverage,
            round(least, 1),
            " %",
            at_least=True,
            note=f"{lowest.judge}; mean of the run, least {100 * of_run:.1f} %",
        )
        yield Figure(
            f"{ratings} ratings, {design}: truth held at most",
            100 * outcomes[highest].coverage,
            most,
            " %",
            note=highest.judge,
        )


def _errors(outcomes: Mapping[Cell, Outcome], ratings: int) -> Iterator[Figure]:
    widest = max(outcomes, key=lambda cell: outcomes[cell].stderr)
    yield Figure(
        f"{ratings} ratings: standard error over that of people alone",
        outcomes[widest].stderr,
        1.02,
        note=f"{widest.design}, {widest.judge}",
    )
    of_lenient = [cell for cell in outcomes if cell.judge == "lenient"]
    widest = max(of_lenient, key=lambda cell: outcomes[cell].stderr)
    yield Figure(
        f"{ratings} ratings: the same with a lenient judge",
        outcomes[widest].stderr,
        0.92,
        note=widest.design,
    )
