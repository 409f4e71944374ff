"""Builds the index of a report: a row for each trial, in columns, and the text to
search."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from itertools import chain
from typing import Any, NamedTuple

from mmeval.records.score import Result
from mmeval.results.compare import metrics_of
from mmeval.results.notes import is_unavailable
from mmeval.results.numbers import NumberRow
from mmeval.results.stored_run import (
    NEVER_ASKED,
    StoredRun,
    StoredTask,
    StoredTrial,
    TaskRow,
    counted_by,
)
from mmeval.store.paths import TrialFilter

STATUSES = (
    "scored",
    "unscored",
    "failed",
    "unsupported",
    "unavailable",
    "inapplicable",
    "refused",
    "uncounted",
)
"""The statuses of trials on the page. A refused trial is ``refused``, scored or not."""
CHUNK = 100
TEXT_CHUNK = 2_000
TILE_CHUNK = 250
"""The number of tiles in a file. Answers in the order of their scores come from many
files, so the files are small."""
MAX_TITLE = 120
MAX_SEARCHED = 4_000
MAX_NAME = 500
FORMAT = 1

_WORST = ("unscored", "unavailable", "scored", "inapplicable")
"""A trial gets the first of these statuses that any of its scores has. ``inapplicable``
comes last, so a trial gets it only if no metric applies."""


class SampleCounts(NamedTuple):
    """How many samples and trials a run sent to its model, and how many it has
    ``chosen``."""

    samples: int
    chosen: int
    trials: int


class Index:
    """The columns of all trials. No other data of a trial is kept in memory.

    The index has ``count`` trials. ``uncounted`` of these trials are in a run folder,
    but the numbers do not include them.
    """

    def __init__(self) -> None:
        self.count = 0
        self.uncounted = 0
        self._runs: list[dict[str, Any]] = []
        self._tallies: list[Counter[str]] = []
        self._tasks: list[dict[str, Any]] = []
        self._metrics: dict[str, dict[str, Any]] = {}
        self._numbers = {
            "task": array("l"),
            "index": array("l"),
            "repeat": array("l"),
            "status": array("l"),
        }
        self._texts: dict[str, list[str]] = {
            "sample": [],
            "title": [],
            "kinds": [],
        }
        self._scores: dict[str, list[float | None]] = {}
        self._labels: dict[str, array[int]] = {}
        self._levels: dict[str, dict[str, int]] = {}
        self._kinds: dict[str, str] = {}
        self._was_asked = array("b")
        self._is_counted: TrialFilter = counted_by(None)
        self._unavailable: frozenset[str] = frozenset()

    def begin_run(self, run: StoredRun) -> None:
        self._tallies.append(Counter())
        row = {
            "name": run.folder.resolve().name,
            "model": run.model,
            "folder": str(run.folder),
            "findings": [finding.to_json() for finding in run.findings],
        }
        self._runs.append(row)

    def begin_task(self, task: StoredTask, ours: TaskRow) -> None:
        """Begin the rows of a task. ``ours`` is the entry ``mmeval`` of the results
        file."""
        self._is_counted = counted_by(ours.get("asked", {}).get(task.name))
        self._unavailable = unavailable_numbers(ours, task.name)
        comparable = task.name not in ours.get("not_comparable", ())
        row = {
            "name": task.name,
            "alias": task.alias,
            "run": len(self._runs) - 1,
            "comparable": comparable,
        }
        self._tasks.append(row)
        ranges: dict[str, Any] = {}
        for metric in metrics_of(ours, task.name).values():
            for name in metric.get("outputs", ()):
                ranges[name] = metric.get("range")
        directions: dict[str, bool] = {}
        for result in ours.get("results", ()):
            name = result["metric"]
            directions[name] = result.get("higher_is_better", True)
            if result["task"] == task.name:
                ranges.setdefault(name, None)
        for name, spread in ranges.items():
            known = _metric(name, directions.get(name, True), spread)
            self._metrics.setdefault(name, known)

    def add(
        self,
        trial: StoredTrial,
        output: Iterable[TaskRow] | None,
        error: TaskRow | None,
        labels: TaskRow,
    ) -> None:
        """Add a trial's row. The whole record is read before anything is added, so that
        a damaged record does not leave columns of different lengths."""
        scores = {} if trial.scores is None else trial.scores["scores"]
        values: dict[str, float | None] = {}
        for name, score in scores.items():
            value = score.get("value") if score.get("status") == "scored" else None
            is_number = isinstance(value, (int, float)) and math.isfinite(value)
            values[name] = value if is_number else None
        status = "uncounted"
        if self._is_counted(trial.index, trial.repeat):
            status = _status(error, trial.scores or {}, self._unavailable)
        number = STATUSES.index(status)
        types = dict.fromkeys(part["type"] for part in output or ())
        types.pop("reasoning", None)
        kinds = "+".join(types)
        sample, words = str(trial.sample["id"])[:MAX_NAME], title(trial.sample)
        levels: dict[str, str | None] = {}
        for name, label in labels.items():
            levels[str(name)[:MAX_NAME]] = None if label is None else level(label)
        was_asked = error is None or error.get("kind") not in NEVER_ASKED

        self._was_asked.append(was_asked)
        self._numbers["task"].append(len(self._tasks) - 1)
        self._numbers["index"].append(trial.index)
        self._numbers["repeat"].append(trial.repeat)
        self._numbers["status"].append(number)
        self._texts["sample"].append(sample)
        self._texts["title"].append(words)
        self._texts["kinds"].append(self._kinds.setdefault(kinds, kinds))
        for name, value in values.items():
            scored = self._scores.setdefault(name, [])
            scored.extend([None] * (self.count - len(scored)))
            scored.append(value)
        for name, text in levels.items():
            known = self._levels.setdefault(name, {})
            column = self._labels.setdefault(name, array("l"))
            if text is not None:
                column.extend([-1] * (self.count - len(column)))
                column.append(known.setdefault(text, len(known)))
        self.count += 1
        self._tallies[-1][status] += 1
        self.uncounted += status == "uncounted"

    def has_scores(self, row: NumberRow) -> bool:
        """Returns whether trials have scores for a number; a number that is computed
        from averages has no scores of trials."""
        return row.metric in self._scores

    def tally(self, run: int) -> Mapping[str, int]:
        """Returns the number of trials of a run (counted from 0) with each status."""
        return self._tallies[run]

    def sample_counts(self, run: int) -> SampleCounts:
        """Returns how many samples and trials of a run (counted from 0) its numbers
        include."""
        chosen: set[tuple[int, int]] = set()
        samples: set[tuple[int, int]] = set()
        trials = 0
        for task, index, _, status, was_asked in zip(
            *self._numbers.values(), self._was_asked, strict=True
        ):
            if self._tasks[task]["run"] == run and STATUSES[status] != "uncounted":
                chosen.add((task, index))
                if was_asked:
                    samples.add((task, index))
                    trials += 1
        return SampleCounts(len(samples), len(chosen), trials)

    def to_json(
        self, *, created: str, version: str, headlines: Mapping[str, str]
    ) -> dict[str, Any]:
        """Returns the whole index; ``headlines`` is the main metric of each task."""
        # fill columns to equal lengths if the last trials have no entry
        scores: dict[str, list[float | None]] = {}
        for name, scored in self._scores.items():
            self._metrics.setdefault(name, _metric(name, True, None))
            scores[name] = scored + [None] * (self.count - len(scored))
        labels = {}
        levels = []
        for name, column in self._labels.items():
            missing = self.count - len(column)
            labels[name] = column.tolist() + [-1] * missing
            levels.append({"name": name, "values": list(self._levels[name])})
        tasks = []
        for task in self._tasks:
            tasks.append({**task, "headline": headlines.get(task["name"], "")})
        numbers = {name: column.tolist() for name, column in self._numbers.items()}
        metrics = [metric for name, metric in self._metrics.items() if name in scores]
        return {
            "format": FORMAT,
            "made": created,
            "mmeval": version,
            "chunk": CHUNK,
            "text_chunk": TEXT_CHUNK,
            "tile_chunk": TILE_CHUNK,
            "count": self.count,
            "runs": self._runs,
            "tasks": tasks,
            "metrics": metrics,
            "statuses": STATUSES,
            "labels": levels,
            "rows": {**numbers, **self._texts, "scores": scores, "labels": labels},
        }


def labels_of(trial: StoredTrial, task: StoredTask) -> dict[str, Any]:
    """Returns the trial's labels for breakdowns, from its score row or else from its
    sample."""
    if trial.scores is not None and "labels" in trial.scores:
        labels: dict[str, Any] = trial.scores["labels"]
        return labels
    metadata = trial.sample["metadata"]
    return {name: metadata.get(name) for name in task.breakdown}


def level(value: Any) -> str:
    """Returns a label's value as text; a list is joined."""
    if isinstance(value, list):
        return ", ".join(map(level, value))[:MAX_NAME]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:MAX_NAME]


def title(sample: TaskRow) -> str:
    """Returns the first words of the last user message, with a word for each medium."""
    for message in reversed(sample["input"]):
        if message["role"] != "user":
            continue
        text = ""
        for part in message["content"]:
            kind = part["type"]
            text += str(part.get("text") or "") if kind == "text" else f" [{kind}] "
        words = " ".join(text[: 8 * MAX_TITLE].split())
        if len(words) > MAX_TITLE:
            return f"{words[: MAX_TITLE - 1]}…"
        if words:
            return words
    return ""


def searched(
    trial: StoredTrial, output: Iterable[TaskRow] | None, error: TaskRow | None
) -> str:
    """Returns the text that the page searches: name, input, answer, references,
    error."""
    sample = trial.sample
    contents = [message["content"] for message in sample["input"]]
    contents += [output or (), *sample["references"][:3]]
    texts = [str(sample["id"])]
    for part in chain.from_iterable(contents):
        if part.get("text"):
            texts.append(str(part["text"])[:MAX_SEARCHED])
    if error is not None:
        texts.append(str(error.get("message", "")))
    if trial.scores is not None:
        for score in trial.scores["scores"].values():
            if score.get("reason"):
                texts.append(str(score["reason"]))
    return "\n".join(texts)[:MAX_SEARCHED]


def unavailable_numbers(ours: TaskRow, task: str) -> frozenset[str]:
    """Returns the numbers that are unavailable for all trials of a task, according to
    the entry ``mmeval`` of the results file."""
    names = set()
    for row in ours.get("results", ()):
        is_whole = row["task"] == task and not row.get("slice")
        if is_whole and is_unavailable(Result.from_json(row)):
            names.add(row["metric"])
    return frozenset(names)


def _status(
    error: TaskRow | None,
    row: TaskRow,
    unavailable: Container[str],
) -> str:
    """Returns a trial's status by its score row. Numbers that are ``unavailable`` for
    the entire task determine the status only if the task has no other numbers."""
    if error is not None:
        return "unsupported" if error.get("kind") == "unsupported" else "failed"
    if row.get("refused"):
        return "refused"
    scores: Mapping[str, TaskRow] = row.get("scores", {})
    available = [score for name, score in scores.items() if name not in unavailable]
    statuses = {score.get("status", "scored") for score in available or scores.values()}
    for status in _WORST:
        if status in statuses:
            return status
    return "unscored"


def _metric(
    name: str,
    higher_is_better: Any,
    spread: Any,
) -> dict[str, Any]:
    return {"name": name, "higher_is_better": bool(higher_is_better), "range": spread}
