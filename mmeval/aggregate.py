"""Aggregators: from the scores of trials to one number with its uncertainty."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mmeval import plugins
from mmeval.records import Result, Score

Z95 = 1.959963984540054
"""The 97.5 % quantile of the normal distribution: half the width of a 95 % interval in standard errors."""

TrialStatus = Literal["ok", "failed", "unsupported"]
"""``failed``: the model gave no answer (an error of the way); ``unsupported``: it cannot take or give what is asked."""


class ScoreRow(NamedTuple):
    """One trial's score by one metric, as aggregators see it. ``value`` is None unless ``status`` is ``scored``."""

    sample: str
    repeat: int
    value: float | None
    status: Literal["scored", "unscored", "unavailable", "failed", "unsupported"]
    cluster: str
    labels: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value and its standard error; None where there are too few scores to say."""

    value: float | None
    stderr: float | None = None


class Scores:
    """The scores of one metric over some trials, held as columns: a run of a million trials stays small.

    Iterating gives ``ScoreRow``s in the order of the data set.
    """

    __slots__ = ("_clusters", "_labels", "_repeats", "_samples", "_statuses", "_values", "higher_is_better", "range")

    _CODES: tuple[Any, ...] = ("scored", "unscored", "unavailable", "failed", "unsupported")

    def __init__(self, *, range: tuple[float, float] = (-math.inf, math.inf), higher_is_better: bool = True) -> None:
        self.range, self.higher_is_better = range, higher_is_better
        self._values = array("d")
        self._statuses = bytearray()
        self._repeats = array("H")
        self._samples: list[str] = []
        self._clusters: list[str] = []
        self._labels: list[Mapping[str, Any]] = []

    def add(
        self,
        sample: str,
        repeat: int,
        score: Score | TrialStatus,
        *,
        cluster: str = "",
        labels: Mapping[str, Any] | None = None,
    ) -> None:
        """One trial's score, or the status of a trial that has no answer to score."""
        status = score if isinstance(score, str) else score.status
        value = math.nan if isinstance(score, str) or score.value is None else score.value
        self._values.append(value)
        self._statuses.append(self._CODES.index(status))
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
            yield ScoreRow(self._samples[i], self._repeats[i], known, status, self._clusters[i], self._labels[i])

    @property
    def values(self) -> list[float]:
        """The values that exist, in order."""
        return [value for value, status in zip(self._values, self._statuses, strict=True) if status == 0]

    def count(self, status: str) -> int:
        return self._statuses.count(self._CODES.index(status))

    def where(self, key: str, wanted: Any) -> Scores:
        """The rows whose label ``key`` is ``wanted``, or contains it when the label is a list (multi-label)."""
        chosen = Scores(range=self.range, higher_is_better=self.higher_is_better)
        for i, labels in enumerate(self._labels):
            label = labels.get(key)
            if label == wanted or (isinstance(label, (list, tuple)) and wanted in label):
                chosen._values.append(self._values[i])
                chosen._statuses.append(self._statuses[i])
                chosen._repeats.append(self._repeats[i])
                chosen._samples.append(self._samples[i])
                chosen._clusters.append(self._clusters[i])
                chosen._labels.append(labels)
        return chosen

    def levels(self, key: str) -> list[Any]:
        """The distinct values of a label, sorted as text; the members of lists count one by one. Structures are no
        values and are left out."""
        found: set[Any] = set()
        for labels in self._labels:
            label = labels.get(key)
            values = label if isinstance(label, (list, tuple)) else (label,)
            found.update(value for value in values if isinstance(value, (str, int, float)))
        return sorted(found, key=str)


_NO_LABELS: Mapping[str, Any] = {}

Aggregator = Callable[..., Estimate]
"""The plugin contract of ``mmeval.aggregators``: ``aggregate(scores, **options) -> Estimate``."""


def load_aggregator(name: str) -> Aggregator:
    found: Aggregator = plugins.load("mmeval.aggregators", name)
    return found


def mean(scores: Scores) -> Estimate:
    """The arithmetic mean of the values that exist, with the standard error clustered by ``cluster``.

    Clusters default to samples, so the repeats of one sample do not count as independent evidence. With one cluster
    there is no standard error.
    """
    places: dict[str, int] = {}
    totals, counts = array("d"), array("q")  # a cluster is often a single sample: its sums should not be objects
    for row in scores:
        if row.value is None:
            continue
        place = places.setdefault(row.cluster, len(totals))
        if place == len(totals):
            totals.append(0.0)
            counts.append(0)
        totals[place] += row.value
        counts[place] += 1
    n = sum(counts)
    if not n:
        return Estimate(None)
    value = math.fsum(totals) / n
    clusters = len(totals)
    if clusters < 2:
        return Estimate(value)
    spread = math.fsum((total - count * value) ** 2 for total, count in zip(totals, counts, strict=True))
    return Estimate(value, math.sqrt(clusters / (clusters - 1) * spread) / n)


def median(scores: Scores) -> Estimate:
    """The median of the values that exist; no standard error."""
    values = sorted(scores.values)
    if not values:
        return Estimate(None)
    middle = len(values) // 2
    return Estimate(values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2)


def summarise(
    task: str, metric: str, scores: Scores, aggregator: Aggregator = mean, options: Mapping[str, Any] | None = None
) -> Result:
    """One line of a report: the estimate with counts, the 95 % normal interval and the bounds."""
    estimate = aggregator(scores, **(options or {}))
    half = None if estimate.stderr is None else Z95 * estimate.stderr
    return Result(
        task=task,
        metric=metric,
        value=estimate.value,
        n=len(scores),
        scored=scores.count("scored"),
        failed=scores.count("failed"),
        unscored=scores.count("unscored"),
        unavailable=scores.count("unavailable"),
        unsupported=scores.count("unsupported"),
        stderr=estimate.stderr,
        ci95=None if estimate.value is None or half is None else (estimate.value - half, estimate.value + half),
        bounds=_bounds(scores, estimate, aggregator, options or {}),
        higher_is_better=scores.higher_is_better,
    )


def _bounds(
    scores: Scores, estimate: Estimate, aggregator: Aggregator, options: Mapping[str, Any]
) -> tuple[float, float] | None:
    """The value if every failed or unscored trial had the lowest, or the highest, value of the metric's range."""
    if not all(map(math.isfinite, scores.range)):
        return None
    if not scores.count("failed") + scores.count("unscored"):
        return None if estimate.value is None else (estimate.value, estimate.value)
    ends = [aggregator(_filled(scores, end), **options).value for end in scores.range]
    if ends[0] is None or ends[1] is None:
        return None
    return (ends[0], ends[1])


def _filled(scores: Scores, value: float) -> Scores:
    filled = Scores(range=scores.range, higher_is_better=scores.higher_is_better)
    for row in scores:
        given: Score | TrialStatus = Score(row.value)
        if row.status in ("failed", "unscored"):
            given = Score(value)
        elif row.status == "unsupported":
            given = "unsupported"
        elif row.status == "unavailable":
            given = Score.unavailable("")
        filled.add(row.sample, row.repeat, given, cluster=row.cluster, labels=row.labels)
    return filled


def combine(task: str, metric: str, members: Sequence[Result], *, weight_by_size: bool) -> Result:
    """A group's number: the mean of its tasks' values, each with equal weight or weighted by its trials.

    A task in which nothing could be asked or computed (unsupported, unavailable) is left out. One whose trials were all
    lost (failed, unscored) leaves the group without a value: its bounds say what the value could be. Weights count the
    trials that could have been scored, so that lost ones do not move them. The standard error is that of the same
    weighted mean; None when a member has none.
    """
    counted = [m for m in members if _askable(m)]
    weights = [float(_askable(m)) if weight_by_size else 1.0 for m in counted]
    value = _weighted([m.value for m in counted], weights)
    errors = [m.stderr for m in counted if m.stderr is not None]
    stderr = None
    if value is not None and len(errors) == len(counted):
        stderr = math.hypot(*(w * error for w, error in zip(weights, errors, strict=True))) / math.fsum(weights)
    low = _weighted([m.bounds and m.bounds[0] for m in counted], weights)
    high = _weighted([m.bounds and m.bounds[1] for m in counted], weights)
    half = 0.0 if stderr is None else Z95 * stderr
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
        stderr=stderr,
        ci95=None if value is None or stderr is None else (value - half, value + half),
        bounds=None if low is None or high is None else (low, high),
        higher_is_better=all(m.higher_is_better for m in members),
    )


def _askable(result: Result) -> int:
    return result.n - result.unsupported - result.unavailable


def _weighted(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    """The weighted mean; None when there is no value at all, or one is missing."""
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return math.fsum(w * value for w, value in zip(weights, known, strict=True)) / math.fsum(weights)
