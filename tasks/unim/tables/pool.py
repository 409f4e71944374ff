"""The trials of a run's UniM tasks as columns, which the paper's tables sum up.

Tasks overlap (a level and a domain hold the same samples), so each trial counts once,
by its sample's id and its repeat. Trials are read once from the score rows; only the
soft labels of capabilities come from the samples.
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
"""The loader and the layout of its tasks."""
MAX_REASON = 400
"""The most characters of a reason that are shown."""
MAX_REASONS = 1000
"""The most different reasons that are counted, since a judge may give another one each
time."""

SCORED, INAPPLICABLE, UNSCORED, UNAVAILABLE, NO_ANSWER = range(5)
"""The states of a number of a trial; if two tasks have the trial, the first of these
counts."""
OK, FAILED, UNSUPPORTED, BAD = range(4)
"""The states of a trial; if two tasks have it, the first of these counts."""
_LABELS = ("place", "difficulty", "combination")
_NOT_YET = {"status": "unscored", "reason": "not scored yet"}
_TRIAL: Mapping[str, int] = {"ok": OK, "unsupported": UNSUPPORTED}


class Lack(NamedTuple):
    """Why a number of a trial has no value."""

    number: str
    reason: str


class Place(NamedTuple):
    """The words of a sample's field and domain; known spellings of a domain are
    equal."""

    field: str
    domain: str


@dataclass
class Pool:
    """The trials in columns. Those that could not be asked because of their own data
    are ``BAD``, with known labels; ``bad`` are the samples.

    ``places``, ``levels``, ``combinations`` and ``capabilities`` number the values of
    labels in their order. ``trials`` has the state of each trial, ``states`` and
    ``values`` those of its numbers; ``codes`` are the numbers of its labels (-1: none),
    ``capable`` are trial, capability and weight of each label of a capability.
    ``lacks`` counts the reasons of missing values, ``items`` are those of the answers
    by modality.
    """

    places: dict[Place, int] = field(default_factory=dict)
    levels: dict[str, int] = field(default_factory=dict)
    combinations: dict[str, int] = field(default_factory=dict)
    capabilities: dict[str, int] = field(default_factory=dict)
    lacks: Counter[Lack] = field(default_factory=Counter)
    items: ItemPool = field(default_factory=ItemPool)
    bad: dict[str, None] = field(default_factory=dict)
    shared: int = 0
    """The number of trials that several tasks share."""
    weighted: bool = False
    """Whether the data give weights to capabilities."""
    trials: bytearray = field(default_factory=bytearray)
    states: bytearray = field(default_factory=bytearray)
    values: array[float] = field(default_factory=lambda: array("d"))
    codes: dict[str, array[int]] = field(
        default_factory=lambda: {name: array("q") for name in _LABELS}
    )
    capable: tuple[array[int], array[int], array[float]] = field(
        default_factory=lambda: (array("q"), array("q"), array("d"))
    )
    _at: dict[tuple[str, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.trials)

    def add(
        self,
        row: Mapping[str, Any],
        given: Mapping[str, str],
        weights: Mapping[str, Mapping[str, Any]],
    ) -> None:
        """Add a score row. ``weights`` are those of capabilities by sample. ``given``
        has the numbers of its task, with a reason for those that do not count."""
        key = (str(row["s"]), int(row["n"]))
        trial = BAD if _is_bad(row) else _TRIAL.get(row["status"], FAILED)
        known = self._at.setdefault(key, len(self))
        if known == len(self):
            self._append(row.get("labels") or {}, weights.get(key[0]))
            self.trials.append(trial)
        else:
            self.shared += 1
            self.trials[known] = min(self.trials[known], trial)
        if trial == BAD and self.trials[known] == BAD:
            self.bad[key[0]] = None
        # the numbers that another task has scored stay
        first = known * len(NUMBERS)
        is_new = len(self.states) == first
        for place, name in enumerate(NUMBERS, first):
            state, value = NO_ANSWER, 0.0
            if trial == OK:
                state, value = self._read(name, row["scores"], given.get(name))
            if is_new:
                self.states.append(state)
                self.values.append(value)
            elif state < self.states[place]:
                self.states[place], self.values[place] = state, value
        if trial == OK:
            self.items.add(known, row["scores"], given, GQ)

    def _append(
        self, labels: Mapping[str, Any], weights: Mapping[str, Any] | None
    ) -> None:
        """Add the labels of a new trial."""
        domain = str(labels.get("domain") or "")
        known = domain_of(domain)
        place = Place(
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
        found = labels.get("capabilities")
        if not isinstance(found, list):
            return
        trials, capabilities, soft = self.capable
        for capability in dict.fromkeys(map(str, found)):
            code = self.capabilities.setdefault(capability, len(self.capabilities))
            trials.append(len(self))
            capabilities.append(code)
            weight = (weights or {}).get(capability)
            if (
                isinstance(weight, int | float)
                and not isinstance(weight, bool)
                and 0 <= weight < math.inf
            ):
                self.weighted = True
                soft.append(float(weight))
            else:
                soft.append(1.0)

    def _read(
        self, name: str, scores: Mapping[str, Any], fault: str | None
    ) -> tuple[int, float]:
        """The state and the value of a number; ``fault`` says why it does not count
        (None: the task does not have it)."""
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
        lack = Lack(name, fault)
        if lack in self.lacks or len(self.lacks) < MAX_REASONS:
            self.lacks[lack] += 1
        return state, 0.0


def pooled(run: StoredRun) -> Pool:
    """The trials of a run's UniM tasks, bad ones last.
    If another task could ask for the sample, its labels are complete there."""
    pool = Pool()
    bad: list[Mapping[str, Any]] = []
    for task in unim_tasks(run):
        given = _given(run, task)
        is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
        weights = {}
        for sample in task.samples():
            found = (sample.get("metadata") or {}).get("capability_weights")
            if isinstance(found, dict) and found:
                weights[str(sample.get("id"))] = found
        for row in task.score_rows():
            if not is_counted(row["i"], row["n"]):
                continue
            if _is_bad(row):
                bad.append(row)
            else:
                pool.add(row, given, weights)
    for row in bad:
        pool.add(row, {}, {})
    return pool


def _is_bad(row: Mapping[str, Any]) -> bool:
    return bool(row.get("error", {}).get("kind") == "bad_sample")


def unim_tasks(run: StoredRun) -> list[StoredTask]:
    """The tasks of a run whose samples are UniM's, or that name its layout."""
    return [
        task
        for task in run.tasks
        if UNIM in (task.config.get("loader"), task.config.get("layout"))
    ]


def _given(run: StoredRun, task: StoredTask) -> dict[str, str]:
    """The numbers of a task, each with a reason why it does not count, or empty.
    All of them without a results file; none counts where scoring was suspended."""
    metrics = run.ours.get("metrics", {}).get(task.name)
    given = {}
    if metrics is None:
        given = dict.fromkeys((*NUMBERS, *TITLES), "")
    else:
        for metric in metrics.values():
            given |= dict.fromkeys(metric.get("outputs", ()), "")
    for row in run.ours.get("results", ()):
        if row["task"] == task.name and row.get("suspended") and row["metric"] in given:
            given[row["metric"]] = "scoring was suspended"
    return given
