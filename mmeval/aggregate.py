"""Aggregators: from the scores of trials to one number with its uncertainty."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, Literal, NamedTuple

from mmeval import plugins, statistics
from mmeval.records import Result, Score, ScoreStatus

TrialStatus = Literal["ok", "failed", "unsupported"]
"""``failed``: the model gave no answer (an error of the way); ``unsupported``: it cannot take or give what is asked."""


class ScoreRow(NamedTuple):
    """One trial's score by one metric, as aggregators see it. ``value`` is None unless ``status`` is ``scored``;
    ``faulty`` is a failed trial that could not be asked because of its own data."""

    sample: str
    repeat: int
    value: float | None
    status: Literal["scored", "unscored", "unavailable", "inapplicable", "failed", "unsupported"]
    cluster: str
    labels: Mapping[str, Any]
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an aggregator gives: a value, None where there are too few scores to say.

    An aggregator that knows a standard error gives it, and a 95 % interval besides where it knows a better one than its
    standard error makes. Without a standard error the value is bootstrapped, unless ``resample`` is False: then it is
    not known.
    """

    value: float | None
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    resample: bool = True


class Scores:
    """The scores of one metric over some trials, held as columns: a run of a million trials stays small.

    Iterating gives ``ScoreRow``s in the order of the data set.
    """

    __slots__ = (
        "_clusters",
        "_faulty",
        "_known",
        "_labels",
        "_repeats",
        "_samples",
        "_statuses",
        "_values",
        "higher_is_better",
        "range",
    )

    _CODES: tuple[Any, ...] = ("scored", "unscored", "failed", "unavailable", "unsupported", "inapplicable")
    _SCORED, _UNSCORED, _FAILED = 0, 1, 2

    def __init__(self, *, range: tuple[float, float] = (-math.inf, math.inf), higher_is_better: bool = True) -> None:
        self.range, self.higher_is_better = range, higher_is_better
        self._values = array("d")
        self._statuses = bytearray()
        self._repeats = array("H")
        self._samples: list[str] = []
        self._clusters: list[str] = []
        self._labels: list[Mapping[str, Any]] = []
        self._known: dict[int, tuple[float, float]] = {}
        """The bounds of unscored trials that have some of their own."""
        self._faulty: set[int] = set()

    def add(
        self,
        sample: str,
        repeat: int,
        score: Score | TrialStatus | ScoreStatus,
        *,
        cluster: str = "",
        labels: Mapping[str, Any] | None = None,
        faulty: bool = False,
    ) -> None:
        """One trial's score, or its status where that is all there is to say: of a trial that has no answer to score,
        or of a score without value and bounds; ``faulty`` if its own data kept it from being asked."""
        if faulty:
            self._faulty.add(len(self))
        status = score if isinstance(score, str) else score.status
        if isinstance(score, Score) and score.bounds is not None and status == "unscored":
            self._known[len(self)] = score.bounds
        value = math.nan if isinstance(score, str) or score.value is None else score.value
        self._add(sample, repeat, value, self._CODES.index(status), cluster=cluster, labels=labels)

    def add_value(
        self, sample: str, repeat: int, value: float, *, cluster: str = "", labels: Mapping[str, Any] | None = None
    ) -> None:
        """One trial's score where it is known to be a value, as nearly all are."""
        self._add(sample, repeat, value, self._SCORED, cluster=cluster, labels=labels)

    def _add(
        self, sample: str, repeat: int, value: float, code: int, *, cluster: str, labels: Mapping[str, Any] | None
    ) -> None:
        self._values.append(value)
        self._statuses.append(code)
        self._repeats.append(repeat)
        self._samples.append(sample)
        self._clusters.append(cluster or sample)
        self._labels.append(labels or _NO_LABELS)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[ScoreRow]:
        for i, value in enumerate(self._values):
            status = self._CODES[self._statuses[i]]
            known = value if status == "scored" else None
            yield ScoreRow(
                self._samples[i],
                self._repeats[i],
                known,
                status,
                self._clusters[i],
                self._labels[i],
                i in self._faulty,
            )

    @property
    def values(self) -> list[float]:
        """The values that exist, in order."""
        return list(compress(self._values, self._is_scored()))

    @property
    def clusters(self) -> list[str]:
        """The cluster of each of the values, in the same order."""
        return list(compress(self._clusters, self._is_scored()))

    def _is_scored(self) -> bytearray:
        """Of each row 1 where it has a value, else 0."""
        return self._statuses.translate(_IS_SCORED)

    @property
    def faulty(self) -> int:
        """How many could not be asked because of their own data; they are among the failed."""
        return len(self._faulty)

    def count(self, status: str) -> int:
        return self._statuses.count(self._CODES.index(status))

    def by_level(self, label: str) -> dict[str | int | float, Scores]:
        """The rows of each value of a label, the values sorted as text. A row whose label is a list belongs to each of
        its members (multi-label). Structures are no values and are left out."""
        return {level: self.at(places) for level, places in self.places(label).items()}

    def places(self, label: str) -> dict[str | int | float, Sequence[int]]:
        """Where the rows of each value of a label stand, as ``by_level`` parts them: what columns over the same trials
        have in common."""
        found: dict[str | int | float, array[int]] = {}
        for i, labels in enumerate(self._labels):
            value = labels.get(label)
            for level in set(_plain(value)) if isinstance(value, (list, tuple)) else _plain((value,)):
                if level not in found:
                    found[level] = array("q")
                found[level].append(i)
        return dict(sorted(found.items(), key=lambda item: str(item[0])))

    def at(self, places: Sequence[int]) -> Scores:
        """Some of the rows, by their places, in this order."""
        part = Scores(range=self.range, higher_is_better=self.higher_is_better)
        part._values.extend(map(self._values.__getitem__, places))
        part._statuses.extend(map(self._statuses.__getitem__, places))
        part._repeats.extend(map(self._repeats.__getitem__, places))
        part._samples.extend(map(self._samples.__getitem__, places))
        part._clusters.extend(map(self._clusters.__getitem__, places))
        part._labels.extend(map(self._labels.__getitem__, places))
        if self._known:
            part._known = {new: self._known[old] for new, old in enumerate(places) if old in self._known}
        if self._faulty:
            part._faulty = {new for new, old in enumerate(places) if old in self._faulty}
        return part

    def drawn(self, clusters: Iterable[Sequence[int]]) -> Scores:
        """A resample: the rows of some clusters, by their places. A cluster that is drawn twice is two clusters, so
        each draw gives its samples names of their own."""
        resample = Scores(range=self.range, higher_is_better=self.higher_is_better)
        for number, rows in enumerate(clusters):
            for i in rows:
                resample._copy(self, i, name=f"{number}:{self._samples[i]}", cluster=str(number))
        return resample

    def filled(self, end: Literal[0, 1]) -> Scores:
        """The same rows with every failed or unscored trial at the low (0) or high (1) end of what it could have been:
        its own bounds where it has some, else the metric's range."""
        filled = Scores(range=self.range, higher_is_better=self.higher_is_better)
        filled._values, filled._statuses, filled._repeats = self._values[:], self._statuses[:], self._repeats[:]
        filled._samples, filled._clusters, filled._labels = self._samples[:], self._clusters[:], self._labels[:]
        for lost in _LOST.finditer(self._statuses):
            i = lost.start()
            filled._values[i] = self._known.get(i, self.range)[end]
            filled._statuses[i] = self._SCORED
        return filled

    def _copy(self, other: Scores, i: int, *, name: str = "", cluster: str = "") -> None:
        """Take over a row of another column, under other names where they are given."""
        if i in other._known:
            self._known[len(self)] = other._known[i]
        if i in other._faulty:
            self._faulty.add(len(self))
        self._values.append(other._values[i])
        self._statuses.append(other._statuses[i])
        self._repeats.append(other._repeats[i])
        self._samples.append(name or other._samples[i])
        self._clusters.append(cluster or other._clusters[i])
        self._labels.append(other._labels[i])


_NO_LABELS: Mapping[str, Any] = {}
_IS_SCORED = bytes(code == Scores._SCORED for code in range(256))
_LOST = re.compile(b"[%c%c]" % (Scores._UNSCORED, Scores._FAILED))


def _plain(values: Iterable[Any]) -> list[str | int | float]:
    return [value for value in values if isinstance(value, (str, int, float))]


Aggregator = Callable[..., Estimate]
"""The plugin contract of ``mmeval.aggregators``: ``aggregate(scores, **options) -> Estimate``."""


def load_aggregator(name: str) -> Aggregator:
    found: Aggregator = plugins.load("mmeval.aggregators", name)
    return found


class ClusterSums(NamedTuple):
    """The sum of each cluster's values and how many there are: what a mean and its standard error are made of."""

    totals: array[float]
    counts: array[int]


def cluster_sums(scores: Scores) -> ClusterSums:
    values, clusters = scores.values, scores.clusters
    if len(set(clusters)) == len(values):  # as nearly always: each is a single sample
        return ClusterSums(array("d", values), array("q", [1]) * len(values))
    places: dict[str, int] = {}
    totals, counts = array("d"), array("q")  # a cluster is often a single sample: its sums should not be objects
    for value, cluster in zip(values, clusters, strict=True):
        place = places.setdefault(cluster, len(totals))
        if place == len(totals):
            totals.append(0.0)
            counts.append(0)
        totals[place] += value
        counts[place] += 1
    return ClusterSums(totals, counts)


def mean(scores: Scores, *, interval: Literal["analytic", "bootstrap"] = "analytic") -> Estimate:
    """The arithmetic mean of the values that exist, with the standard error clustered by ``cluster``.

    Clusters default to samples, so the repeats of one sample do not count as independent evidence. With one cluster
    there is no standard error. ``interval: bootstrap`` leaves it to be bootstrapped.
    """
    totals, counts = cluster_sums(scores)
    n = sum(counts)
    if not n:
        return Estimate(None)
    value = math.fsum(totals) / n
    if len(totals) < 2 or interval == "bootstrap":
        return Estimate(value)
    return Estimate(value, statistics.mean_stderr(totals, counts))


def median(scores: Scores) -> Estimate:
    """The median of the values that exist: the middle one, or the mean of the two in the middle. Its standard error is
    bootstrapped."""
    values = sorted(scores.values)
    if not values:
        return Estimate(None)
    middle = len(values) // 2
    return Estimate(values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2)


def summarise(
    task: str,
    metric: str,
    scores: Scores,
    aggregator: Aggregator = mean,
    options: Mapping[str, Any] | None = None,
    *,
    bootstrap_iters: int = 0,
    suspended: bool = False,
) -> Result:
    """One line of a report: the estimate with counts, 95 % interval and bounds.

    An estimate without a standard error is bootstrapped ``bootstrap_iters`` times; 0 leaves it without. Where scoring
    was ``suspended`` there are only counts and bounds.
    """
    bound = _sound(aggregator, options or {})
    estimate = bound(scores)
    clusters = len(set(scores.clusters))
    sure = _Sureness()
    if estimate.value is not None and clusters > 1 and not suspended:
        sure = _sureness(
            scores, estimate.value, estimate, clusters, partial(_resampled, aggregator, options or {}, bootstrap_iters)
        )
    return Result(
        task=task,
        metric=metric,
        value=None if suspended else estimate.value,
        n=len(scores),
        scored=scores.count("scored"),
        failed=scores.count("failed"),
        unscored=scores.count("unscored"),
        unavailable=scores.count("unavailable"),
        unsupported=scores.count("unsupported"),
        stderr=sure.stderr,
        ci95=sure.ci95,
        bounds=_bounds(scores, estimate.value, _sound(*_bare(aggregator, options or {}))),
        higher_is_better=scores.higher_is_better,
        suspended=suspended,
        clusters=clusters,
        bootstrap_iters=sure.bootstrap_iters,
        faulty=scores.faulty,
        inapplicable=scores.count("inapplicable"),
    )


def _bare(aggregator: Aggregator, options: Mapping[str, Any]) -> tuple[Aggregator, Mapping[str, Any]]:
    """An aggregator of which the value is wanted alone: the mean need not work out its standard error."""
    return (aggregator, {**options, "interval": "bootstrap"}) if aggregator is mean else (aggregator, options)


def _sound(aggregator: Aggregator, options: Mapping[str, Any]) -> Callable[[Scores], Estimate]:
    """The aggregator with its options, where NaN and infinity are unknown: a correlation of equal values, say."""

    def estimate(scores: Scores) -> Estimate:
        found: Estimate = aggregator(scores, **options)
        if found.value is None or not math.isfinite(found.value):
            return Estimate(None)
        if found.ci95 is not None and not all(map(math.isfinite, found.ci95)):
            found = replace(found, ci95=None)
        if found.stderr is not None and not math.isfinite(found.stderr):
            found = replace(found, stderr=None)
        return found

    return estimate


class _Sureness(NamedTuple):
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    bootstrap_iters: int = 0


def _sureness(
    scores: Scores, value: float, estimate: Estimate, clusters: int, resampled: Callable[[Scores], _Sureness]
) -> _Sureness:
    """What is known of a value from its aggregator, from a formula, or from resampling, in this order."""
    if estimate.ci95 is not None:
        return _Sureness(estimate.stderr, estimate.ci95)
    found = _Sureness(estimate.stderr)
    if found.stderr is None and estimate.resample:
        # Draws of one and the same value have nothing to tell.
        found = _Sureness(0.0) if {*scores.values} == {value} else resampled(scores)
    if found.stderr is None:
        return found
    if _alike(found.stderr, value, scores.range):
        return found._replace(stderr=0.0, ci95=statistics.same_value_interval(value, clusters, scores.range))
    if found.ci95 is None:
        found = found._replace(ci95=statistics.interval(value, found.stderr, clusters, scores.range))
    return found


def _alike(stderr: float, value: float, range: tuple[float, float]) -> bool:
    """Whether the clusters are alike, up to rounding, and the value lies in a finite range: what was never seen then
    bounds the interval, since neither formula nor resampling has anything to go by."""
    low, high = range
    within = math.isfinite(low) and math.isfinite(high) and low <= value <= high
    return within and math.isclose(stderr, 0.0, abs_tol=1e-12 * max(1.0, abs(value)))


def _resampled(aggregator: Aggregator, options: Mapping[str, Any], iterations: int, scores: Scores) -> _Sureness:
    if not iterations:
        return _Sureness()
    from mmeval.resampling import resample  # numpy and scipy.stats, which few numbers need

    found = resample(scores, aggregator, options, iterations)
    return _Sureness() if found is None else _Sureness(*found)


def _bounds(scores: Scores, value: float | None, aggregator: Aggregator) -> tuple[float, float] | None:
    """The value if every failed or unscored trial had the lowest, or the highest, value that it could have had."""
    if not scores.count("failed") + scores.count("unscored"):
        finite = all(map(math.isfinite, scores.range))
        return (value, value) if finite and value is not None else None
    ends = [scores.filled(0), scores.filled(1)]
    if not all(all(map(math.isfinite, end.values)) for end in ends):
        return None
    found = [aggregator(end).value for end in ends]
    if found[0] is None or found[1] is None:
        return None
    return (min(found[0], found[1]), max(found[0], found[1]))


def combine(task: str, metric: str, members: Sequence[Result], *, weight_by_size: bool) -> Result:
    """A group's number: the mean of its tasks' values, each with equal weight or weighted by its trials.

    A task in which nothing could be asked or computed (unsupported, faulty, unavailable) is left out, and so is one of
    which no answer holds anything for the metric (inapplicable). One whose trials were all lost (failed, unscored)
    leaves the group without a value: its bounds say what the value could be. Weights count the trials that could have
    been scored, so that neither lost nor faulty ones move them. Bounds also weigh the faulty ones, as they say what the
    value could be were these right.

    Standard error and interval take the members as independent: they are, unless tasks share samples. Both are those of
    the same weighted mean; None when a member has none.
    """
    counted = [m for m in members if _askable(m)]
    shares = _shares([_askable(m) for m in counted], weight_by_size=weight_by_size)
    value = _weighted([m.value for m in counted], shares)
    sure = _Sureness() if value is None else _group_sureness(counted, shares)
    bounded = [m for m in members if _askable(m) + m.faulty]
    bound_shares = _shares([_askable(m) + m.faulty for m in bounded], weight_by_size=weight_by_size)
    low = _weighted([m.bounds and m.bounds[0] for m in bounded], bound_shares)
    high = _weighted([m.bounds and m.bounds[1] for m in bounded], bound_shares)
    return Result(
        task=task,
        metric=metric,
        value=value,
        n=sum(m.n for m in members),
        scored=sum(m.scored for m in members),
        failed=sum(m.failed for m in members),
        unscored=sum(m.unscored for m in members),
        unavailable=sum(m.unavailable for m in members),
        unsupported=sum(m.unsupported for m in members),
        stderr=sure.stderr,
        ci95=sure.ci95,
        bounds=None if low is None or high is None else (low, high),
        higher_is_better=all(m.higher_is_better for m in members),
        suspended=any(m.suspended for m in members),
        clusters=sum(m.clusters for m in members),
        weights={m.task: share for m, share in zip(counted, shares, strict=True)},
        faulty=sum(m.faulty for m in members),
        inapplicable=sum(m.inapplicable for m in members),
    )


def _group_sureness(members: Sequence[Result], shares: Sequence[float]) -> _Sureness:
    errors = [m.stderr for m in members if m.stderr is not None]
    values = [m.value for m in members if m.value is not None]
    intervals = [m.ci95 for m in members if m.ci95 is not None]
    return _Sureness(
        statistics.weighted_mean_stderr(errors, shares) if len(errors) == len(members) else None,
        statistics.weighted_mean_interval(values, intervals, shares) if len(intervals) == len(members) else None,
    )


def _askable(result: Result) -> int:
    """The trials that could have been scored."""
    return result.n - result.unsupported - result.unavailable - result.inapplicable - result.faulty


def _shares(trials: Sequence[int], *, weight_by_size: bool) -> list[float]:
    sizes = [float(count) if weight_by_size else 1.0 for count in trials]
    return [size / math.fsum(sizes) for size in sizes]


def _weighted(values: Sequence[float | None], shares: Sequence[float]) -> float | None:
    """The weighted mean; None when there is no value at all, or one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.fsum(share * value for share, value in zip(shares, known, strict=True))
