"""Looks up the numbers of a model for the cells of a table: from a run, or from
published numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Protocol

from mmeval.aggregate.summary import is_unsupported
from mmeval.records.score import Key, Result
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import groups_of, results_of
from mmeval.results.published import NumberKey, TableNumber
from mmeval.results.stored_run import StoredRun

CellState = Literal["known", "cannot", "lost", "absent"]
"""``known``: there is a value. ``cannot``: the model cannot take the input or give the
output, or the data contain nothing for the metric. ``lost``: the value is lost,
suspended or unavailable. ``absent``: the number was not asked."""

NOT_ASKED = "not asked"


@dataclass(frozen=True)
class CellValue:
    """The content of a cell. ``value`` is None unless the state is ``known``.

    ``reason`` explains a lost or absent value. ``trials`` counts its trials without a
    score. ``interval`` is the 95 % interval of a value, and ``n`` the number of its
    scored samples, where they are known.
    """

    state: CellState
    value: float | None = None
    reason: str = ""
    trials: int = 0
    higher_is_better: bool = True
    interval: tuple[float, float] | None = None
    n: int | None = None


ABSENT = CellValue("absent", reason=NOT_ASKED)
CANNOT = CellValue("cannot")


class Numbers(Protocol):
    """The numbers of a model."""

    def of(self, key: NumberKey) -> CellValue:
        """Returns the content of the cell with this key."""


class StatedNumbers:
    """Numbers that are given by key, from a CSV file or from a hook."""

    def __init__(self, numbers: Mapping[NumberKey, TableNumber]) -> None:
        self._numbers = numbers
        self._tau = {}
        for key, number in numbers.items():
            if key.kind == "tau":
                self._tau[key.task, key.slice] = number

    def of(self, key: NumberKey) -> CellValue:
        number = self._numbers.get(key)
        # tau is a share of samples, and the same for all numbers of a task
        if number is None and key.kind == "tau":
            number = self._tau.get((key.task, key.slice))
        if number is None:
            return ABSENT
        if number.state == "cannot":
            return CANNOT
        if number.value is None:
            return CellValue("lost", reason=number.reason or "lost")
        return CellValue(
            "known",
            number.value,
            higher_is_better=number.higher_is_better,
            interval=number.interval,
            n=number.n,
        )


class RunNumbers:
    """The numbers of a run's results file. A number that the file lacks is looked up in
    ``more``, the numbers of the layout's hook."""

    def __init__(self, run: StoredRun, more: Iterable[TableNumber] = ()) -> None:
        self._run = run
        self._more = StatedNumbers({number.key: number for number in more})

    @cached_property
    def _results(self) -> Mapping[Key, Result]:
        return results_of(self._run.results)

    @cached_property
    def members(self) -> Mapping[str, Sequence[str]]:
        """The direct members of each group."""
        return groups_of([self._run.results])

    @cached_property
    def _causes(self) -> Mapping[tuple[str, str], str]:
        """Why a number cannot be computed, by task and number."""
        metrics = self._run.ours.get("metrics", {})
        causes: dict[tuple[str, str], str] = {}
        for finding in self._run.findings:
            task, metric = finding.subject.task, finding.subject.metric
            entry = metrics.get(task, {}).get(metric, {})
            for number in (metric, *entry.get("outputs", ())):
                causes.setdefault((task, number), finding.cause)
        return causes

    def of(self, key: NumberKey) -> CellValue:
        result = self.result(key)
        cell = self._absent(key)
        if result is not None and key.kind != "half_width":
            cell = self._of_result(key, result)
        if cell.state == "absent":
            from_hook = self._more.of(key)
            if from_hook is not ABSENT:
                return from_hook
            if self._has_other_slices(key):
                # no sample of the task is in this slice
                return CANNOT
        return cell

    def _has_other_slices(self, key: NumberKey) -> bool:
        """Returns True if the task is divided by the label of the slice, such as
        ``domain`` of ``domain=law``."""
        label, equals, _ = key.slice.partition("=")
        return (key.task, key.metric, label) in self._labels if equals else False

    @cached_property
    def _labels(self) -> set[tuple[str, str, str]]:
        """The labels by which numbers are divided: task, metric, label."""
        labels = set()
        for task, metric, part in self._results:
            labels.add((task, metric, part.partition("=")[0]))
        return labels

    def result(self, key: NumberKey) -> Result | None:
        """Returns the result behind a cell, or None if the run has none."""
        return self._results.get(Key(key.task, key.metric, key.slice))

    def _absent(self, key: NumberKey) -> CellValue:
        if key.task in self._run.ours.get("left_out", ()):
            return CellValue("lost", reason="its data are missing")
        if key.task in self._run.results.get("group_subtasks", {}):
            return replace(ABSENT, reason="not computed")
        return ABSENT

    def _of_result(self, key: NumberKey, result: Result) -> CellValue:
        if key.kind == "tau":
            return self._known(tau_of(result), result)
        if is_unsupported(result) or result.has_nothing_to_score:
            # the relative mean of an unsupported task is 0, not unknown
            if key.kind == "relative" and is_unsupported(result):
                return self._known(0.0, result)
            return CANNOT
        if key.kind == "relative":
            return self._known(self._relative(key, result), result)
        cell = self._known(result.value, result)
        if cell.state == "known":
            cell = replace(cell, interval=result.interval, n=result.scored)
        return cell

    def _known(self, value: float | None, result: Result) -> CellValue:
        if value is not None and not result.suspended:
            return CellValue("known", value, higher_is_better=result.higher_is_better)
        trials = result.failed + result.unscored + result.unavailable
        return CellValue("lost", reason=self._reason(result), trials=trials)

    def _relative(self, key: NumberKey, result: Result) -> float | None:
        """Returns tau times the value; for a group the mean of its members' relative
        values, which is not the product."""
        members = self.members.get(key.task, ())
        if not members:
            tau = tau_of(result)
            if tau is None or result.value is None:
                return None
            return tau * result.value
        values = []
        for member in members:
            cell = self.of(key._replace(task=member))
            if cell.state in ("lost", "absent"):
                return None
            if cell.value is not None:
                values.append(cell.value)
        return math.fsum(values) / len(values) if values else None

    def _reason(self, result: Result) -> str:
        if result.suspended:
            return "scoring was suspended"
        if result.failed or result.unscored:
            return "answers or verdicts are lost"
        for task in sorted(tasks_inside(result.task, self.members)):
            cause = self._causes.get((task, result.metric))
            if cause:
                return cause
        return "unavailable" if result.unavailable else "not scored"


def tau_of(result: Result) -> float | None:
    """Returns the share of samples whose input the model supports. Faulty samples are
    left out; None if all are faulty."""
    asked = result.n - result.faulty
    return (asked - result.unsupported) / asked if asked else None
