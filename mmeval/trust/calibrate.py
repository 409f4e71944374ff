"""Corrects a metric by people's ratings of few trials.

    calibration = calibrate(rows, ratings, CalibrationOptions("judge"))
    calibration.exit_code, calibration.results[0].corrected

Three values stand beside each other: the metric alone, the ratings alone, and the
metric corrected by the ratings. No model is called.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK, UsageError, did_you_mean
from mmeval.system.wording import listed
from mmeval.trust.correction.difference import Difference, difference
from mmeval.trust.correction.estimate import Estimate, corrected, people_alone
from mmeval.trust.correction.mean import Mean, clustered_mean
from mmeval.trust.correction.needed import Needed, ratings_needed
from mmeval.trust.correction.rated_trials import NO_RANGE, Range, RatedTrials
from mmeval.trust.correction.sequence import Sequence95, confidence_sequence
from mmeval.trust.human_values import HumanValue
from mmeval.trust.paired_trials import (
    PairedTrials,
    clusters_of,
    paired_trials,
    ratings_of_question,
    ratings_of_runs,
)
from mmeval.trust.records import Rating, ScoreRow

FEWEST_RATINGS = 20
"""With fewer rated trials, neither ratings nor a correction have a usable interval."""
FEWEST_EFFECTIVE = 50.0
"""With fewer effective ratings of unequal probability, the interval may be short."""

Refusal = Literal[
    "not drawn at random",
    "strata with fewer than two ratings",
    "strata with fewer than two rated clusters",
]
NOT_RANDOM: Refusal = "not drawn at random"
NO_RATINGS_OF_BOTH = "no ratings of both runs"
TOO_FEW = f"fewer than {FEWEST_RATINGS} ratings"


_OPTIONAL = (
    "run",
    "slice",
    "sequence",
    "why",
    "refused",
    "remarks",
    "strata",
    "left_out",
)
"""Keys of a result that are left out if they are empty."""


@dataclass(frozen=True)
class CalibrationOptions:
    """What to correct, and how.

    ``proxies`` are further metrics that help to predict the ratings. ``strata`` and
    ``by`` are labels. ``run`` and ``against`` name runs of the rows. ``limits`` is the
    range of the ratings. ``precision`` is a half width to plan for. ``human`` None is
    the usual way to combine raters.
    """

    metric: str
    proxies: tuple[str, ...] = ()
    strata: str = ""
    by: str = ""
    run: str = ""
    against: str = ""
    limits: Range = NO_RANGE
    precision: float | None = None
    sequence: bool = False
    assume_random: bool = False
    human: HumanValue | None = None
    question: str | None = None

    @property
    def all_proxies(self) -> tuple[str, ...]:
        """The metric and the further proxies."""
        return (self.metric, *self.proxies)


@dataclass(frozen=True)
class StratumCount:
    """The numbers of trials and of rated trials in a stratum."""

    trials: int
    ratings: int


@dataclass(frozen=True)
class CalibrationResult:
    """The values of one run, or of one slice of it.

    ``people`` and ``corrected`` are None if ``why`` (too few ratings) or ``refused``
    states a reason.
    """

    run: str
    slice: str
    trials: int
    ratings: int
    clusters: int
    rated_clusters: int
    judge: Mean
    people: Estimate | None = None
    corrected: Estimate | None = None
    needed: Needed | None = None
    sequence: Sequence95 | None = None
    why: str = ""
    refused: Refusal | Literal[""] = ""
    remarks: tuple[str, ...] = ()
    strata: Mapping[str, StratumCount] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)

    def to_json(self, options: CalibrationOptions) -> dict[str, Any]:
        """Returns an entry of ``results``."""
        row: dict[str, Any] = {
            "metric": options.metric,
            "proxies": list(options.all_proxies),
            "run": self.run,
            "slice": self.slice,
            "trials": self.trials,
            "ratings": self.ratings,
            "clusters": self.clusters,
            "rated_clusters": self.rated_clusters,
            "judge": self.judge.to_json(),
            "people": None,
            "corrected": None,
            "sequence": None,
            "why": self.why,
            "refused": self.refused,
            "remarks": list(self.remarks),
            "strata": {name: asdict(count) for name, count in self.strata.items()},
            "left_out": dict(self.left_out),
        }
        if self.people is not None:
            row["people"] = self.people.to_json()
        if self.corrected is not None:
            row["corrected"] = {
                **self.corrected.to_json(),
                "lambda": self.corrected.weights,
                "freedom": self.corrected.freedom,
            }
        if self.sequence is not None:
            row["sequence"] = self.sequence.to_json()
        if self.needed is not None:
            row["needed"] = self.needed.ratings
            row["least_half_width"] = self.needed.least_half_width
        for name in _OPTIONAL:
            if not row[name]:
                del row[name]
        return row


@dataclass(frozen=True)
class Calibration:
    """All results: each run as a whole, and then its slices. ``difference`` is that of
    two runs, or None."""

    results: tuple[CalibrationResult, ...]
    difference: Difference | None
    options: CalibrationOptions
    refused: str = ""

    @property
    def exit_code(self) -> int:
        """0, or 3 if something requested is refused."""
        is_refused = self.refused or any(result.refused for result in self.results)
        return EXIT_INCOMPLETE if is_refused else EXIT_OK

    def to_json(self) -> dict[str, Any]:
        """Returns the output of ``mmeval calibrate --format json``."""
        document: dict[str, Any] = {
            "results": [result.to_json(self.options) for result in self.results],
            "difference": None,
        }
        if self.difference is not None:
            document["difference"] = self.difference.to_json()
        if self.refused:
            document["refused"] = self.refused
        return document


def calibrate(
    scores: Iterable[ScoreRow],
    ratings: Iterable[Rating],
    options: CalibrationOptions,
) -> Calibration:
    """Returns the values of a metric beside those of people, and the corrected values.

    Raises UsageError if the rows do not fit the options.
    """
    _check(options)
    runs = _rows_by_run(scores, options)
    by_run = ratings_of_runs(ratings_of_question(ratings, options.question), list(runs))
    chosen = [name for name in (options.run, options.against) if name] or list(runs)
    groups: dict[str, PairedTrials] = {}
    for name in chosen:
        groups[name] = paired_trials(
            runs[name], by_run[name], options.all_proxies, options.human
        )
    for label in filter(None, (options.by, options.strata)):
        _check_label(label, groups.values())

    clusters = clusters_of(*groups.values())
    results = []
    for name, group in groups.items():
        results.append(_result(name, "", group, clusters, options))
    refused, of_runs = _difference(groups, results, clusters, options)
    for name, group in groups.items():
        for value in group.values(options.by) if options.by else ():
            part = group.slice(options.by, value)
            results.append(_result(name, value, part, clusters, options))
    return Calibration(tuple(results), of_runs, options, refused)


def _check(options: CalibrationOptions) -> None:
    if options.against and not options.run:
        raise UsageError("--against needs --run: the run that it is compared with")
    if options.run and options.run == options.against:
        raise UsageError(f"--run and --against both name {options.run!r}")
    low, high = options.limits
    if options.sequence and not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError("--sequence needs a finite range; give --range LOW,HIGH")
    if options.sequence and options.strata:
        raise UsageError("--sequence works without --strata; leave one of them out")
    if options.precision is not None and not options.precision > 0:
        raise UsageError(f"--precision must be above 0, not {options.precision:g}")
    if len(set(options.all_proxies)) < len(options.all_proxies):
        raise UsageError("a metric occurs twice in --metric and --proxy")


def _rows_by_run(
    scores: Iterable[ScoreRow], options: CalibrationOptions
) -> dict[str, list[ScoreRow]]:
    runs: dict[str, list[ScoreRow]] = {}
    for row in scores:
        runs.setdefault(row.run, []).append(row)
    if not runs:
        raise UsageError("there are no scores")
    for name in filter(None, (options.run, options.against)):
        if name not in runs:
            raise UsageError(
                f"there are no scores of a run {name!r}{did_you_mean(name, runs)}",
                name=name,
                known=runs,
            )
    if not options.run and len(runs) > 1:
        raise UsageError(
            f"the scores are of {len(runs):,} runs ({listed(sorted(runs), 3)}); "
            "choose one with --run"
        )
    return runs


def _check_label(label: str, groups: Iterable[PairedTrials]) -> None:
    known: dict[str, None] = {}
    for group in groups:
        for trial in group.trials:
            known.update(dict.fromkeys(trial.labels))
    if label not in known:
        raise UsageError(
            f"no trial has the label {label!r}{did_you_mean(label, known)}",
            name=label,
            known=known,
        )


def _result(
    run: str,
    slice_value: str,
    group: PairedTrials,
    clusters: Sequence[str],
    options: CalibrationOptions,
) -> CalibrationResult:
    trials = group.arrays(options.strata, clusters)
    refused = _refusal(group, trials, options)
    result = CalibrationResult(
        run=run,
        slice=slice_value,
        trials=trials.count,
        ratings=trials.rated,
        clusters=trials.cluster_count,
        rated_clusters=trials.rated_clusters,
        judge=clustered_mean(trials.proxies[:, 0], trials.clusters, options.limits),
        why=TOO_FEW if trials.rated < FEWEST_RATINGS and not refused else "",
        refused=refused,
        strata=_strata_counts(group, options.strata),
        left_out=group.left_out,
    )
    if result.why or result.refused:
        return result
    return _with_estimates(result, group, trials, options)


def _with_estimates(
    result: CalibrationResult,
    group: PairedTrials,
    trials: RatedTrials,
    options: CalibrationOptions,
) -> CalibrationResult:
    estimate = corrected(trials, options.limits)
    remarks = []
    unrated = _tasks_without_rating(group)
    if unrated:
        remarks.append(
            f"no trial of {listed(unrated, 3)} is rated: the correction holds only if "
            "trials of all tasks could be drawn"
        )
    if estimate.ci95 is None:
        remarks.append("no two ratings differ, so there is no interval")
    effective = _effective_ratings(trials)
    if _is_weighted(trials) and effective < FEWEST_EFFECTIVE:
        remarks.append(
            f"drawn with unequal probabilities, and only {effective:.0f} effective "
            "ratings: the interval may be too short"
        )
    needed = None
    if options.precision is not None:
        if options.strata:
            remarks.append("the number of ratings needed is unknown with strata")
        else:
            needed = ratings_needed(trials, estimate, options.precision)
    sequence = None
    if options.sequence:
        if _is_weighted(trials):
            remarks.append("no sequence: the draw has unequal probabilities")
        else:
            order = group.in_time_order()
            sequence = confidence_sequence(trials, order, options.limits)
    return replace(
        result,
        people=people_alone(trials, options.limits),
        corrected=estimate,
        needed=needed,
        sequence=sequence,
        remarks=tuple(remarks),
    )


def _tasks_without_rating(group: PairedTrials) -> list[str]:
    """Returns the tasks that are part of the number, but not of the ratings."""
    rated = {trial.labels.get("task", "") for trial in group.rated}
    return [task for task in group.values("task") if task not in rated]


def _refusal(
    group: PairedTrials, trials: RatedTrials, options: CalibrationOptions
) -> Refusal | Literal[""]:
    if not options.assume_random:
        for trial in group.rated:
            if trial.human is not None and not trial.human.draw.is_random:
                return NOT_RANDOM
    if trials.rated < FEWEST_RATINGS:
        return ""
    for stratum in trials.each_stratum():
        rated = trials.is_rated[stratum.places]
        if np.count_nonzero(rated) < 2:
            return "strata with fewer than two ratings"
        if len(np.unique(stratum.cluster_of[rated])) < 2:
            return "strata with fewer than two rated clusters"
    return ""


def _strata_counts(group: PairedTrials, label: str) -> dict[str, StratumCount]:
    if not label:
        return {}
    trials: Counter[str] = Counter()
    rated: Counter[str] = Counter()
    for trial in group.trials:
        name = trial.labels.get(label, "")
        trials[name] += 1
        rated[name] += trial.human is not None
    return {name: StratumCount(trials[name], rated[name]) for name in sorted(trials)}


def _is_weighted(trials: RatedTrials) -> bool:
    """Returns True if probabilities differ within a stratum. Between strata they may
    differ, since each stratum counts by its number of trials."""
    for stratum in trials.each_stratum():
        is_rated = trials.is_rated[stratum.places]
        weights = trials.weights[stratum.places][is_rated]
        if np.ptp(weights) > 0:
            return True
    return False


def _effective_ratings(trials: RatedTrials) -> float:
    weights = trials.weights[trials.is_rated]
    return float(weights.sum() ** 2 / (weights @ weights))


def _difference(
    groups: Mapping[str, PairedTrials],
    results: Sequence[CalibrationResult],
    clusters: Sequence[str],
    options: CalibrationOptions,
) -> tuple[str, Difference | None]:
    """Returns why the difference of two runs is refused, and the difference."""
    if not options.against:
        return "", None
    # nothing says that a metric errs alike on both runs
    if not all(result.ratings for result in results):
        return NO_RATINGS_OF_BOTH, None
    a, b = (result.corrected for result in results)
    if a is None or b is None:
        return "", None
    first, second = (
        groups[name].arrays(options.strata, clusters)
        for name in (options.run, options.against)
    )
    return "", difference(first, a, second, b)
