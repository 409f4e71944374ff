"""Collects the trials of a run's UniM tasks in columns, for the paper's tables.

Tasks overlap, since the same sample belongs to a level and to a domain. A trial,
identified by its sample's id and its repeat, is counted once. Trials are read once from
the score rows. Only the weights of capabilities come from the samples.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.results import counted_by
from mmeval.system.wording import shortened
from mmeval.tasks.unim.domains import domain_of
from mmeval.tasks.unim.tables.items import TITLES, ItemPool

if TYPE_CHECKING:
    from mmeval.results import StoredRun, StoredTask

NUMBERS = SC, GQ, SQCS, STS, LES, HC, SH, ICS = (
    "semantic_correctness",
    "unim_gq",
    "sqcs",
    "strict_structure",
    "lenient_structure",
    "holistic_coherence",
    "stylistic_harmony",
    "interleaved_coherence",
)
"""The numbers of a trial, in the order of the paper's tables."""
UNIM = "unim"
"""The name of the loader and of the layout of UniM's tasks."""
MAX_REASON = 400
"""Maximum number of characters in a reason."""
MAX_REASONS = 1000
"""Maximum number of different reasons that are counted. A judge may state a new reason
each time."""

SCORED, INAPPLICABLE, UNSCORED, UNAVAILABLE, NO_ANSWER = range(5)
"""The states of a trial's number. If two tasks share the trial, the lower one
counts."""
OK, FAILED, UNSUPPORTED, BAD = range(4)
"""The states of a trial. If two tasks share the trial, the lower state counts."""
_LABELS = ("place", "difficulty", "combination")
_NOT_YET = {"status": "unscored", "reason": "not scored yet"}
_TRIAL: Mapping[str, int] = {"ok": OK, "unsupported": UNSUPPORTED}


class MissingReason(NamedTuple):
    """The reason why a trial has no value for a number."""

    number: str
    reason: str


class DomainPlace(NamedTuple):
    """The field and domain of a sample. Known spellings of a domain are unified."""

    field: str
    domain: str


@dataclass
class Pool:
    """The trials in columns.

    Trials of bad samples have the state ``BAD`` and their known labels. ``bad``
    contains these samples. ``places``, ``levels``, ``combinations`` and
    ``capabilities`` map the values of labels to codes, in order. ``trials`` contains
    the state of each trial. ``states`` and ``values`` contain the states and values of
    its numbers. ``codes`` contains the codes of its labels, or -1 for a missing label.
    ``capability_labels`` contains the trial, capability and weight of each capability
    label. ``missing`` counts the missing values by reason. ``items`` contains the items
    of the answers by modality.
    """

    places: dict[DomainPlace, int] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    combinations: dict[str, int] = field(default_factory=dict)
    capabilities: dict[str, int] = field(default_factory=dict)
    missing: Counter[MissingReason] = field(default_factory=Counter)
    items: ItemPool = field(default_factory=ItemPool)
    bad: dict[str, None] = field(default_factory=dict)
    shared: int = 0
    """The number of trials that several tasks share."""
    weighted: bool = False
    """True if the data contain weights of capabilities."""
    trials: bytearray = field(default_factory=bytearray)
    states: bytearray = field(default_factory=bytearray)
    values: array[float] = field(default_factory=lambda: array("d"))
    codes: dict[str, array[int]] = field(
        default_factory=lambda: {name: array("q") for name in _LABELS}
    )
    capability_labels: tuple[array[int], array[int], array[float]] = field(
        default_factory=lambda: (array("q"), array("q"), array("d"))
    )
    _index_of: dict[tuple[str, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.trials)

    def add(
        self,
        row: Mapping[str, Any],
        exclusions: Mapping[str, str],
        weights: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Adds a score row.

        ``exclusions`` maps each number of the row's task to the reason why it does not
        count, or to an empty string. ``weights`` are the weights of capabilities by
        sample.
        """
        key = (str(row["s"]), int(row["n"]))
        trial = BAD if _is_bad(row) else _TRIAL.get(row["status"], FAILED)
        index = self._index_of.setdefault(key, len(self))
        if index == len(self):
            self._append(row.get("labels") or {}, weights.get(key[0]))
            self.trials.append(trial)
        else:
            self.shared += 1
            self.trials[index] = min(self.trials[index], trial)
        if trial == BAD and self.trials[index] == BAD:
            self.bad[key[0]] = None
        # Numbers that another task has already scored are kept.
        first = index * len(NUMBERS)
        is_new = len(self.states) == first
        for position, name in enumerate(NUMBERS, first):
            state, value = NO_ANSWER, 0.0
            if trial == OK:
                state, value = self._read(name, row["scores"], exclusions.get(name))
            if is_new:
                self.states.append(state)
                self.values.append(value)
            elif state < self.states[position]:
                self.states[position], self.values[position] = state, value
        if trial == OK:
            self.items.add(index, row["scores"], exclusions, GQ)

    def _append(
        self, labels: Mapping[str, Any], weights: Mapping[str, Any] | None
    ) -> None:
        """Adds the labels of a new trial."""
        domain = str(labels.get("domain") or "")
        known = domain_of(domain)
        place = DomainPlace(
            str(labels.get("field") or ""), domain if known is None else known.name
        )
        code = -1
        if all(place):
            code = self.places.setdefault(place, len(self.places))
        self.codes["place"].append(code)
        for name, numbered in (
            ("difficulty", self.levels),
            ("combination", self.combinations),
        ):
            word = str(labels.get(name) or "")
            code = numbered.setdefault(word, len(numbered)) if word else -1
            self.codes[name].append(code)
        names = labels.get("capabilities")
        if not isinstance(names, list):
            return
        trials, codes, label_weights = self.capability_labels
        for capability in dict.fromkeys(map(str, names)):
            code = self.capabilities.setdefault(capability, len(self.capabilities))
            trials.append(len(self))
            codes.append(code)
            weight = (weights or {}).get(capability)
            if (
                isinstance(weight, int | float)
                and not isinstance(weight, bool)
                and 0 <= weight < math.inf
            ):
                self.weighted = True
                label_weights.append(float(weight))
            else:
                label_weights.append(1.0)

    def _read(
        self, name: str, scores: Mapping[str, Any], fault: str | None
    ) -> tuple[int, float]:
        """Returns the state and the value of a number.

        ``fault`` is the reason why the number does not count. ``fault`` is None if the
        task does not have the number.
        """
        if fault is None:
            return UNAVAILABLE, 0.0
        score: Mapping[str, Any] = scores.get(name) or _NOT_YET
        status = score["status"]
        value: Any = score.get("value")
        state = UNSCORED
        if not fault:
            is_number = status == "scored" and isinstance(value, int | float)
            if is_number and math.isfinite(value):
                return SCORED, float(value)
            if status == "inapplicable":
                return INAPPLICABLE, 0.0
            if status == "unavailable":
                state = UNAVAILABLE
            fault = shortened(str(score.get("reason", "")), MAX_REASON)
        reason = MissingReason(name, fault)
        if reason in self.missing or len(self.missing) < MAX_REASONS:
            self.missing[reason] += 1
        return state, 0.0


def pooled(run: StoredRun) -> Pool:
    """Collects the trials of a run's UniM tasks.

    Bad trials are added last. If another task read the same sample without a fault, the
    complete labels from that task are used.
    """
    pool = Pool()
    bad: list[Mapping[str, Any]] = []
    for task in unim_tasks(run):
        exclusions = _exclusions(run, task)
        is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
        weights = {}
        for sample in task.samples():
            sample_weights = (sample.get("metadata") or {}).get("capability_weights")
            if isinstance(sample_weights, dict) and sample_weights:
                weights[str(sample.get("id"))] = sample_weights
        for row in task.score_rows():
            if not is_counted(row["i"], row["n"]):
                continue
            if _is_bad(row):
                bad.append(row)
            else:
                pool.add(row, exclusions, weights)
    for row in bad:
        pool.add(row, {}, {})
    return pool


def _is_bad(row: Mapping[str, Any]) -> bool:
    return bool(row.get("error", {}).get("kind") == "bad_sample")


def unim_tasks(run: StoredRun) -> list[StoredTask]:
    """Returns the tasks of a run that use UniM's loader or UniM's layout."""
    return [
        task
        for task in run.tasks
        if UNIM in (task.config.get("loader"), task.config.get("layout"))
    ]


def _exclusions(run: StoredRun, task: StoredTask) -> dict[str, str]:
    """Maps each number of a task to the reason why it does not count.

    The reason is empty if the number counts. Without a results file all numbers count.
    A number whose scoring was suspended does not count.
    """
    metrics = run.ours.get("metrics", {}).get(task.name)
    exclusions = {}
    if metrics is None:
        exclusions = dict.fromkeys((*NUMBERS, *TITLES), "")
    else:
        for metric in metrics.values():
            exclusions |= dict.fromkeys(metric.get("outputs", ()), "")
    for row in run.ours.get("results", ()):
        if (
            row["task"] == task.name
            and row.get("suspended")
            and row["metric"] in exclusions
        ):
            exclusions[row["metric"]] = "scoring was suspended"
    return exclusions
