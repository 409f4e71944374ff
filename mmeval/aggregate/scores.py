"""The scores of a task in columns, and the contract of aggregators."""

from __future__ import annotations

import math
import operator
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from mmeval import plugins
from mmeval.records.score import Result, Score, ScoreStatus

if TYPE_CHECKING:
    from mmeval.records.evidence import Term

TrialStatus = Literal["ok", "failed", "unsupported"]
"""``failed`` if the model returned no answer, ``unsupported`` if it does not support an
input or output of the trial."""

STATUSES: tuple[Any, ...] = (
    "scored",
    "unscored",
    "failed",
    "unavailable",
    "unsupported",
    "inapplicable",
)
"""The statuses of trials. A column stores the position of a status in this tuple."""
_SCORED, _UNSCORED, _FAILED = 0, 1, 2
_IS_SCORED = bytes(code == _SCORED for code in range(256))
_LOST = re.compile(b"[%c%c]" % (_UNSCORED, _FAILED))
_NO_LABELS: Mapping[str, Any] = {}


class ScoreRow(NamedTuple):
    """One trial's score by one metric.

    ``value`` is None unless the trial is ``scored``. ``faulty`` is True if the trial
    failed because its sample is invalid. A scored trial may have ``evidence`` instead
    of a value. An aggregator then computes one number from the evidence of all trials.
    ``weight`` is the number of units that the score covers.
    """

    sample: str
    repeat: int
    value: float | None
    status: Literal[
        "scored", "unscored", "unavailable", "inapplicable", "failed", "unsupported"
    ]
    cluster: str
    labels: Mapping[str, Any]
    faulty: bool = False
    evidence: Mapping[str, Any] = _NO_LABELS
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The result of an aggregator: a value, or None if there are too few scores.

    If the value is a weighted sum of means, ``terms`` contains these means. The
    standard error and the interval are computed from them. Any other aggregator may
    return a standard error. It may also return a 95 % interval that is better than the
    one computed from the standard error, or the reason why there is no interval
    (``no_interval``). If there is no standard error, the value is bootstrapped. If
    ``resample`` is False, it is not bootstrapped, and the error is unknown.
    """

    value: float | None
    stderr: float | None = None
    ci95: tuple[float, float] | None = None
    resample: bool = True
    no_interval: str = ""
    terms: tuple[Term, ...] | None = field(default=None, compare=False, repr=False)


Aggregator = Callable[..., Estimate]
"""The plugin contract of ``mmeval.aggregators``: ``aggregate(scores, **options) ->
Estimate``. An aggregator with a keyword ``profile`` gets the task's profile."""


class AggregatedNumber(NamedTuple):
    """A number with its scores, its aggregator and the aggregator's options."""

    result: Result
    scores: Scores
    aggregator: Aggregator
    options: Mapping[str, Any]


class Scores:
    """The scores of one metric over some trials, stored in columns to save memory.

    Iterating over it yields ``ScoreRow`` objects in the order of the data set.
    ``switches`` are the metric's switches, if they are known.
    """

    __slots__ = (
        "_clusters",
        "_faulty",
        "_known",
        "_labels",
        "_no_option",
        "_refused",
        "_refused_scores",
        "_repeats",
        "_samples",
        "_statuses",
        "_values",
        "_weights",
        "higher_is_better",
        "range",
        "switches",
    )

    def __init__(
        self,
        *,
        range: tuple[float, float] = (-math.inf, math.inf),
        higher_is_better: bool = True,
        switches: Mapping[str, Any] | None = None,
    ) -> None:
        self.range = range
        self.higher_is_better = higher_is_better
        self.switches = switches or {}
        self._values = array("d")
        self._weights = array("d")
        self._statuses = bytearray()
        self._repeats = array("H")
        self._samples: list[str] = []
        self._clusters: list[str] = []
        self._labels: list[Mapping[str, Any]] = []
        self._known: dict[int, Any] = {}
        """The bounds of unscored trials and the evidence of scored trials without a
        value, by position."""
        self._faulty: set[int] = set()
        self._no_option: set[int] = set()
        """The positions of answers that are wrong because they name no option."""
        self._refused: set[int] = set()
        self._refused_scores: set[int] = set()
        """The positions of answers that are unscored because the model or a judge
        refused."""

    def add(
        self,
        sample: str,
        repeat: int,
        score: Score | TrialStatus | ScoreStatus,
        *,
        cluster: str = "",
        labels: Mapping[str, Any] | None = None,
        faulty: bool = False,
        refused: bool = False,
    ) -> None:
        """Adds one trial's score, or only its status.

        A trial without an answer, or a score with neither value nor bounds, needs only
        a status. With ``faulty`` the sample is invalid, so it was not sent to the
        model. With ``refused`` the model refused to answer.
        """
        if faulty:
            self._faulty.add(len(self))
        if refused:
            self._refused.add(len(self))
        value, weight = math.nan, 1.0
        if isinstance(score, str):
            status = score
        else:
            status, weight = score.status, score.weight
            if score.cause == "refused":
                self._refused_scores.add(len(self))
            if score.value is not None:
                value = score.value
            elif status == "scored":
                self._known[len(self)] = score.evidence
            if status == "unscored" and score.bounds is not None:
                self._known[len(self)] = score.bounds
        self._add(
            sample,
            repeat,
            value,
            STATUSES.index(status),
            cluster=cluster,
            labels=labels,
            weight=weight,
        )

    def add_value(
        self,
        sample: str,
        repeat: int,
        value: float,
        *,
        cluster: str = "",
        labels: Mapping[str, Any] | None = None,
        weight: float = 1.0,
        no_option: bool = False,
        refused: bool = False,
    ) -> None:
        """Adds the score of a trial that has a value.

        This method is fast, because nearly all scores have a value. With ``no_option``
        the answer is wrong because it names no option. With ``refused`` the model
        refused to answer.
        """
        if no_option:
            self._no_option.add(len(self))
        if refused:
            self._refused.add(len(self))
        self._add(
            sample,
            repeat,
            value,
            _SCORED,
            cluster=cluster,
            labels=labels,
            weight=weight,
        )

    def _add(
        self,
        sample: str,
        repeat: int,
        value: float,
        code: int,
        *,
        cluster: str,
        labels: Mapping[str, Any] | None,
        weight: float,
    ) -> None:
        self._values.append(value)
        self._weights.append(weight)
        self._statuses.append(code)
        self._repeats.append(repeat)
        self._samples.append(sample)
        self._clusters.append(cluster or sample)
        self._labels.append(labels or _NO_LABELS)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[ScoreRow]:
        for i, value in enumerate(self._values):
            status = STATUSES[self._statuses[i]]
            is_scored = status == "scored"
            yield ScoreRow(
                self._samples[i],
                self._repeats[i],
                value if is_scored and i not in self._known else None,
                status,
                self._clusters[i],
                self._labels[i],
                i in self._faulty,
                self._known.get(i, _NO_LABELS) if is_scored else _NO_LABELS,
                self._weights[i],
            )

    @property
    def values(self) -> list[float]:
        """The values of the scores that have one, in order."""
        return list(compress(self._values, self._is_scored()))

    @property
    def statuses(self) -> list[str]:
        """The status of each row."""
        return [STATUSES[code] for code in self._statuses]

    @property
    def values_or_none(self) -> list[float | None]:
        """The value of each row, or None if the row has no value."""
        values: list[float | None] = list(self._values)
        for place, code in enumerate(self._statuses):
            if code != _SCORED or place in self._known:
                values[place] = None
        return values

    @property
    def weights(self) -> list[float]:
        """The number of units that each of the values covers, in the same order."""
        return list(compress(self._weights, self._is_scored()))

    @property
    def clusters(self) -> list[str]:
        """The cluster of each of the values, in the same order."""
        return list(compress(self._clusters, self._is_scored()))

    def _is_scored(self) -> bytearray:
        """Returns a byte per row: 1 if the row has a value, else 0."""
        return self._statuses.translate(_IS_SCORED)

    @property
    def faulty(self) -> int:
        """The number of failed trials with an invalid sample."""
        return len(self._faulty)

    @property
    def no_option(self) -> frozenset[int]:
        """The positions of the answers that are wrong because they name no option."""
        return frozenset(self._no_option)

    @property
    def refused(self) -> frozenset[int]:
        """The positions of the answers that the model refused."""
        return frozenset(self._refused)

    @property
    def refused_unscored(self) -> frozenset[int]:
        """The positions of the answers that are unscored because the model refused."""
        return frozenset(self._refused_scores & self._refused)

    @property
    def refused_verdicts(self) -> frozenset[int]:
        """The positions of the answers that are unscored because a judge refused."""
        return frozenset(self._refused_scores - self._refused)

    def by_cluster(self) -> dict[str, Sequence[int]]:
        """Returns the positions of each cluster's rows, with or without a value."""
        places: dict[str, array[int]] = {}
        for i, cluster in enumerate(self._clusters):
            places.setdefault(cluster, array("q")).append(i)
        return dict(places)

    def count(self, status: str) -> int:
        return self._statuses.count(STATUSES.index(status))

    def by_level(self, label: str) -> dict[str | int | float, Scores]:
        """Groups the rows by the value of a label.

        The groups are sorted by the values as text. A row whose label is a list belongs
        to the group of each item in the list. Labels that are mappings, and nested
        lists, are left out.
        """
        levels = self.places(label)
        return {level: self.take(levels[level]) for level in levels}

    def places(self, label: str) -> dict[str | int | float, Sequence[int]]:
        """Returns the positions of the rows in each group of ``by_level``."""
        places: dict[str | int | float, array[int]] = {}
        for i, labels in enumerate(self._labels):
            value = labels.get(label)
            values = value if isinstance(value, (list, tuple)) else (value,)
            levels = {item for item in values if isinstance(item, (str, int, float))}
            for level in levels:
                if level not in places:
                    places[level] = array("q")
                places[level].append(i)
        return dict(sorted(places.items(), key=lambda item: str(item[0])))

    def take(self, places: Sequence[int]) -> Scores:
        """Returns the rows at the given positions, in this order."""
        part = self._empty()
        part._values.extend(map(self._values.__getitem__, places))
        part._weights.extend(map(self._weights.__getitem__, places))
        part._statuses.extend(map(self._statuses.__getitem__, places))
        part._repeats.extend(map(self._repeats.__getitem__, places))
        part._samples.extend(map(self._samples.__getitem__, places))
        part._clusters.extend(map(self._clusters.__getitem__, places))
        part._labels.extend(map(self._labels.__getitem__, places))
        if self._known:
            for new, old in enumerate(places):
                if old in self._known:
                    part._known[new] = self._known[old]
        part._faulty = _moved(self._faulty, places)
        part._no_option = _moved(self._no_option, places)
        part._refused = _moved(self._refused, places)
        part._refused_scores = _moved(self._refused_scores, places)
        return part

    def _empty(self) -> Scores:
        return Scores(
            range=self.range,
            higher_is_better=self.higher_is_better,
            switches=self.switches,
        )

    def drawn(self, clusters: Iterable[Sequence[int]]) -> Scores:
        """Returns the rows of some drawn clusters.

        ``clusters`` contains the positions of each cluster's rows.

        A cluster that is drawn twice becomes two clusters, so the samples of each copy
        get new names.
        """
        drawn: list[int] = []
        samples = []
        names = []
        for number, places in enumerate(clusters):
            name = str(number)
            for place in places:
                drawn.append(place)
                samples.append(f"{name}:{self._samples[place]}")
                names.append(name)
        resample = self.take(drawn)
        resample._samples = samples
        resample._clusters = names
        return resample

    def filled(self, end: Literal[0, 1]) -> Scores:
        """Returns the rows, with the lowest (0) or highest (1) value for each lost
        trial.

        This value is the bound of the trial if it has one, else the end of the metric's
        range. If the weight of a trial is unknown, the trial gets the largest known
        weight.
        """
        filled = self._empty()
        filled._values = self._values[:]
        filled._statuses = self._statuses[:]
        filled._repeats = self._repeats[:]
        filled._samples = self._samples[:]
        filled._clusters = self._clusters[:]
        filled._labels = self._labels[:]
        filled._weights, greatest = self._weights[:], max(self._weights, default=1.0)
        for lost in _LOST.finditer(self._statuses):
            i = lost.start()
            filled._values[i] = self._known.get(i, self.range)[end]
            filled._statuses[i] = _SCORED
            # A lost trial has the default weight, because its weight is unknown.
            if filled._weights[i] == 1:
                filled._weights[i] = greatest
        return filled


def first_statuses(columns: Sequence[Scores], order: Sequence[str]) -> Counter[str]:
    """Counts trials by status, over several columns of the same trials.

    The status of a trial is the first in ``order`` that it has in any column. ``order``
    names all statuses.
    """
    ranks = bytes(map(order.index, STATUSES)).ljust(256, b"\0")
    ranked = [column._statuses.translate(ranks) for column in columns]
    counts = Counter(map(min, zip(*ranked, strict=True)))
    return Counter({order[rank]: count for rank, count in counts.items()})


def _moved(marked: set[int], places: Sequence[int]) -> set[int]:
    """Returns the positions that the marked rows have among the taken rows."""
    if not marked:  # as nearly always
        return set()
    return {new for new, old in enumerate(places) if old in marked}


def load_aggregator(name: str) -> Aggregator:
    aggregator: Aggregator = plugins.load("mmeval.aggregators", name)
    return aggregator


class ClusterSums(NamedTuple):
    """The sum and the number of each cluster's values, for a mean and its error.

    With weights, they are the sum of the weighted values and the sum of the weights.
    """

    clusters: Sequence[str]
    totals: array[float]
    counts: array[float]


def cluster_sums(scores: Scores, *, weighted: bool = False) -> ClusterSums:
    values, clusters = array("d", scores.values), scores.clusters
    if not weighted:
        return sums_by_cluster(clusters, values, array("d", [1]) * len(values))
    weights = array("d", scores.weights)
    products = array("d", map(operator.mul, values, weights))
    return sums_by_cluster(clusters, products, weights)


def sums_by_cluster(
    clusters: Sequence[str], values: array[float], weights: array[float]
) -> ClusterSums:
    """Returns the sums of values and of weights of each cluster."""
    if len(set(clusters)) == len(values):  # as nearly always: each is a single sample
        return ClusterSums(clusters, values, weights)
    names = list(dict.fromkeys(clusters))
    place_of = {name: place for place, name in enumerate(names)}
    # a cluster is often a single sample, so the sums are arrays and not objects
    totals = array("d", [0]) * len(names)
    counts = totals[:]
    places = map(place_of.__getitem__, clusters)
    for place, value, weight in zip(places, values, weights, strict=True):
        totals[place] += value
        counts[place] += weight
    return ClusterSums(names, totals, counts)
