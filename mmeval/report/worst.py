"""Finds the answers of a run with the worst scores, and those without a score."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmeval.report.headline import headline_rows
from mmeval.results.compare import metric_of, range_of
from mmeval.results.numbers import NumberRow, number_rows
from mmeval.results.stored_run import (
    NEVER_ASKED,
    StoredRun,
    StoredTask,
    StoredTrial,
    counted_by,
)

MOST = 10
"""Maximum number of answers in the list of the worst scores."""
MOST_LOST = 5
"""Maximum number of answers in the list of those without a score."""
_REASON_KEYS = ("reason", "Reason", "explanation")
_MAX_DEPTH = 10


@dataclass(frozen=True)
class RankedTrial:
    """An answer, and its score in the headline metric of its task.

    ``value`` is None without a score. ``share`` is the place of the value between the
    worst (0) and the best (1) possible score. ``reason`` is the judge's reason, or why
    there is no score; it is empty if neither is known.
    """

    task: str
    sample: str
    repeat: int
    metric: str
    value: float | None
    share: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        return {
            "task": self.task,
            "sample": self.sample,
            "repeat": self.repeat,
            "metric": self.metric,
            "score": self.value,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class WorstTrials:
    """The answers with the worst scores, worst first, and the first answers without a
    score. ``scored`` and ``lost`` count all answers with and without a score."""

    worst: tuple[RankedTrial, ...]
    without_score: tuple[RankedTrial, ...]
    scored: int
    lost: int


def worst_trials(run: StoredRun, tasks: Collection[str]) -> WorstTrials:
    """Returns the worst answers of the given tasks of a run.

    Scores of different metrics are compared by their place in the range of the metric.
    If the range is infinite, the place between the lowest and the highest score of the
    task is used. Equal places are in the order of the data. Answers that contain
    nothing to score, and samples that were never sent to the model, are left out.
    """
    rows = number_rows([run.results], [""])
    worst: list[RankedTrial] = []
    without_score: list[RankedTrial] = []
    scored = lost = 0
    for task in run.tasks:
        if task.name not in tasks:
            continue
        rows_of_task = [row for row in rows if row.task == task.name]
        for trial in _ranked(run, task, rows_of_task):
            if trial.value is None:
                lost += 1
                if lost <= MOST_LOST:
                    without_score.append(trial)
                continue
            scored += 1
            worst.append(trial)
            if len(worst) > 2 * MOST:  # so that few answers are in memory
                worst = _first(worst)
    return WorstTrials(
        worst=tuple(_first(worst)),
        without_score=tuple(without_score),
        scored=scored,
        lost=lost,
    )


def _first(trials: list[RankedTrial]) -> list[RankedTrial]:
    return sorted(trials, key=lambda trial: trial.share)[:MOST]


def _ranked(
    run: StoredRun, task: StoredTask, rows: Sequence[NumberRow]
) -> Iterator[RankedTrial]:
    """Yields the answers of a task with their scores. ``rows`` are its numbers."""
    spreads = _spreads(task)
    # a number that is computed from averages has no scores of trials
    of_trials = [row for row in rows if row.metric in spreads]
    headline = next(iter(headline_rows(of_trials or rows)), None)
    metric = "" if headline is None else headline.metric
    pieces = frozenset() if headline is None else headline.pieces
    higher_is_better = headline is None or headline.higher_is_better
    low, high = range_of(metric_of(run.ours, task.name, metric))
    if not math.isfinite(high - low):
        low, high = spreads.get(metric, (0.0, 0.0))
    is_counted = counted_by(run.ours.get("asked", {}).get(task.name))
    for trial in task.trials(is_counted):
        if trial is None:  # its lines are damaged, which the report states
            continue
        error = trial.row.get("error") or {}
        score = _scores(trial).get(metric, {})
        value = None if error else score.get("value")
        if error.get("kind") in NEVER_ASKED or score.get("status") == "inapplicable":
            continue
        if not error and not metric:  # its task was not scored
            continue
        reason = str(score.get("reason", ""))
        if error:
            reason = f"{error.get('kind')}: {error.get('message', '')}"
        elif value is not None:
            reason = judge_reason(_scores(trial), (metric, *sorted(pieces)))
        yield RankedTrial(
            task=task.name,
            sample=str(trial.sample["id"]),
            repeat=trial.repeat,
            metric=metric,
            value=value,
            share=_share(value, low, high, higher_is_better=higher_is_better),
            reason=reason,
        )


def _scores(trial: StoredTrial) -> Mapping[str, Any]:
    return {} if trial.scores is None else trial.scores.get("scores", {})


def _spreads(task: StoredTask) -> dict[str, tuple[float, float]]:
    """Returns the lowest and the highest score of each number of trials."""
    spreads: dict[str, tuple[float, float]] = {}
    for row in task.score_rows():
        for name, score in row.get("scores", {}).items():
            value = score.get("value")
            if value is not None:
                low, high = spreads.get(name, (value, value))
                spreads[name] = (min(low, value), max(high, value))
    return spreads


def _share(
    value: float | None, low: float, high: float, *, higher_is_better: bool
) -> float:
    if value is None or high <= low:
        return 0.5
    share = (value - low) / (high - low)
    return share if higher_is_better else 1 - share


def judge_reason(scores: Mapping[str, Any], metrics: Collection[str]) -> str:
    """Returns the reason for a trial's score, from the evidence of the given metrics.

    The first reason is used. Of several criteria, it is the reason of the first one
    that is not met. The text is empty without a reason.
    """
    for metric in metrics:
        rows = list(_rows_with_reason(scores.get(metric, {}).get("evidence", {})))
        unmet = [row for row in rows if not row.get("met", True)]
        for row in unmet or rows:
            return _reason_in(row)
    return ""


def _rows_with_reason(value: Any, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yields the objects inside the evidence that contain a reason."""
    if depth == _MAX_DEPTH:
        return
    items: Collection[Any] = ()
    if isinstance(value, Mapping):
        if _reason_in(value):
            yield value
        items = value.values()
    elif isinstance(value, list):
        items = value
    for item in items:
        yield from _rows_with_reason(item, depth + 1)


def _reason_in(row: Mapping[str, Any]) -> str:
    for key in _REASON_KEYS:
        text = row.get(key)
        if isinstance(text, str) and text.strip():
            return text.strip()
    return ""
