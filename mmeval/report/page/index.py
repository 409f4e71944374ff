"""The index of a report: one row a trial, by columns, and the filter's text."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Any, NamedTuple

from mmeval.records.score import Result
from mmeval.results.notes import is_unavailable
from mmeval.results.numbers import NumberRow
from mmeval.results.stored_run import (
    StoredRun,
    StoredTask,
    StoredTrial,
    TaskRow,
    counted_by,
)
from mmeval.store.paths import Wanted

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
"""What a trial is on the page. One that was refused is so whether it is scored or
not."""
CHUNK = 100
TEXT_CHUNK = 2_000
MAX_TITLE = 120
MAX_SEARCHED = 4_000
MAX_NAME = 500
FORMAT = 1

_WORST = ("unscored", "unavailable", "scored", "inapplicable")
"""Of the scores of a trial the first of these counts: that a metric does not apply,
only where none does."""


_NEVER_ASKED = frozenset({"unsupported", "bad_sample"})
"""The errors of trials that no model was asked: they ended before their first call."""


class Asked(NamedTuple):
    """The samples and trials of a run that were asked, of the samples that were
    ``chosen``."""

    samples: int
    chosen: int
    trials: int


class Index:
    """Columns of all trials; nothing else of them is held.

    ``uncounted`` of its ``count`` trials lie in a run folder and do not stand behind
    the numbers.
    """

    def __init__(self) -> None:
        self.count = 0
        self.uncounted = 0
        self._runs: list[dict[str, Any]] = []
        self._tallies: list[Counter[str]] = []
        self._tasks: list[dict[str, Any]] = []
        self._metrics: dict[str, dict[str, Any]] = {}
        self._numbers = {
            name: array("l") for name in ("task", "index", "repeat", "status")
        }
        self._texts: dict[str, list[str]] = {
            name: [] for name in ("sample", "title", "kinds")
        }
        self._scores: dict[str, list[float | None]] = {}
        self._labels: dict[str, array[int]] = {}
        self._levels: dict[str, dict[str, int]] = {}
        self._kinds: dict[str, str] = {}
        self._was_asked = array("b")
        self._is_counted: Wanted = counted_by(None)
        self._lacking: frozenset[str] = frozenset()

    def begin_run(self, run: StoredRun) -> None:
        self._tallies.append(Counter())
        self._runs.append(
            {
                "name": run.folder.resolve().name,
                "model": run.model,
                "folder": str(run.folder),
                "findings": [finding.to_json() for finding in run.findings],
            }
        )

    def begin_task(self, task: StoredTask, ours: TaskRow) -> None:
        """Begin the rows of a task; ``ours`` is what the results file has in
        ``mmeval``."""
        self._is_counted = counted_by(ours.get("asked", {}).get(task.name))
        self._lacking = lacking(ours, task.name)
        comparable = task.name not in ours.get("not_comparable", ())
        row = {
            "name": task.name,
            "alias": task.alias,
            "run": len(self._runs) - 1,
            "comparable": comparable,
        }
        self._tasks.append(row)
        directions = {
            row["metric"]: row.get("higher_is_better", True)
            for row in ours.get("results", ())
        }
        metrics = ours.get("metrics", {}).get(task.name, {}).values()
        ranges = {
            name: metric.get("range")
            for metric in metrics
            for name in metric.get("outputs", ())
        }
        own = (
            row["metric"] for row in ours.get("results", ()) if row["task"] == task.name
        )
        for name in (*ranges, *own):
            self._metrics.setdefault(
                name, _metric(name, directions.get(name, True), ranges.get(name))
            )

    def add(
        self,
        trial: StoredTrial,
        output: Iterable[TaskRow] | None,
        error: TaskRow | None,
        labels: TaskRow,
    ) -> None:
        """Add a trial's row. Its record is read first, so that the columns stay
        alike."""
        scores: Mapping[str, TaskRow] = (
            {} if trial.scores is None else trial.scores["scores"]
        )
        values = {
            n: _finite(s.get("value")) if s.get("status") == "scored" else None
            for n, s in scores.items()
        }
        status = (
            _status(error, trial.scores or {}, self._lacking)
            if self._is_counted(trial.index, trial.repeat)
            else "uncounted"
        )
        numbers = (
            len(self._tasks) - 1,
            trial.index,
            trial.repeat,
            STATUSES.index(status),
        )
        kinds = "+".join(
            dict.fromkeys(
                part["type"] for part in output or () if part["type"] != "reasoning"
            )
        )
        texts = (
            str(trial.sample["id"])[:MAX_NAME],
            title(trial.sample),
            self._kinds.setdefault(kinds, kinds),
        )
        levels = {
            str(name)[:MAX_NAME]: None if value is None else level(value)
            for name, value in labels.items()
        }
        self._was_asked.append(error is None or error.get("kind") not in _NEVER_ASKED)
        for column, number in zip(self._numbers.values(), numbers, strict=True):
            column.append(number)
        for words, text in zip(self._texts.values(), texts, strict=True):
            words.append(text)
        for name, value in values.items():
            scored = self._scores.setdefault(name, [])
            scored.extend([None] * (self.count - len(scored)))
            scored.append(value)
        for name, found in levels.items():
            self._add_level(name, found)
        self.count += 1
        self._tallies[-1][status] += 1
        self.uncounted += status == "uncounted"

    def _add_level(self, name: str, found: str | None) -> None:
        known = self._levels.setdefault(name, {})
        column = self._labels.setdefault(name, array("l"))
        if found is not None:
            column.extend([-1] * (self.count - len(column)))
            column.append(known.setdefault(found, len(known)))

    def _padded(self) -> tuple[dict[str, list[float | None]], dict[str, list[int]]]:
        """Scores and labels in columns of one length, whatever the last trials lack."""
        scores = {
            name: column + [None] * (self.count - len(column))
            for name, column in self._scores.items()
        }
        labels = {
            name: column.tolist() + [-1] * (self.count - len(column))
            for name, column in self._labels.items()
        }
        return scores, labels

    def has_scores(self, row: NumberRow) -> bool:
        """Whether trials have scores by a number: one of several averages is no number
        of trials."""
        return row.metric in self._scores

    def tally(self, run: int) -> Mapping[str, int]:
        """The number of trials of a run (counted from 0) with each status."""
        return self._tallies[run]

    def asked(self, run: int) -> Asked:
        """What was asked in a run (counted from 0), of what stands behind its
        numbers."""
        samples, trials = defaultdict[int, dict[int, bool]](dict), 0
        for task, place, _, status, asked in zip(
            *self._numbers.values(), self._was_asked, strict=True
        ):
            if self._tasks[task]["run"] == run and STATUSES[status] != "uncounted":
                samples[task][place] = samples[task].get(place, False) or bool(asked)
                trials += asked
        return Asked(
            sum(sum(s.values()) for s in samples.values()),
            sum(map(len, samples.values())),
            trials,
        )

    def to_json(
        self, *, made: str, version: str, headlines: Mapping[str, str]
    ) -> dict[str, Any]:
        """All of the index; ``headlines`` are the metrics that stand for their tasks'
        trials."""
        for name in self._scores:
            self._metrics.setdefault(name, _metric(name, True, None))
        scores, labels = self._padded()
        return {
            "format": FORMAT,
            "made": made,
            "mmeval": version,
            "chunk": CHUNK,
            "text_chunk": TEXT_CHUNK,
            "count": self.count,
            "runs": self._runs,
            "tasks": [
                {**task, "headline": headlines.get(task["name"], "")}
                for task in self._tasks
            ],
            "metrics": [
                metric for name, metric in self._metrics.items() if name in self._scores
            ],
            "statuses": STATUSES,
            "labels": [
                {"name": name, "values": list(levels)}
                for name, levels in self._levels.items()
            ],
            "rows": {
                **{name: column.tolist() for name, column in self._numbers.items()},
                **self._texts,
                "scores": scores,
                "labels": labels,
            },
        }


def labels_of(trial: StoredTrial, task: StoredTask) -> dict[str, Any]:
    """The trial's labels for breakdowns, by its score row, else by its sample."""
    if trial.scores is not None and "labels" in trial.scores:
        found: dict[str, Any] = trial.scores["labels"]
        return found
    metadata = trial.sample["metadata"]
    return {name: metadata.get(name) for name in task.breakdown}


def level(value: Any) -> str:
    """A label's value as a text; a list is that of its members."""
    if isinstance(value, list):
        return ", ".join(map(level, value))[:MAX_NAME]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:MAX_NAME]


def title(sample: TaskRow) -> str:
    """The first words that are asked, on one line, with a word for each medium."""
    for message in reversed(sample["input"]):
        if message["role"] == "user":
            words = " ".join(
                "".join(_spoken(part) for part in message["content"])[
                    : 8 * MAX_TITLE
                ].split()
            )
            if words:
                return (
                    words if len(words) <= MAX_TITLE else words[: MAX_TITLE - 1] + "…"
                )
    return ""


def _spoken(part: TaskRow) -> str:
    return (
        str(part.get("text") or "") if part["type"] == "text" else f" [{part['type']}] "
    )


def searched(
    trial: StoredTrial, output: Iterable[TaskRow] | None, error: TaskRow | None
) -> str:
    """The text that the filter searches: name, input, answer, references, error."""
    sample = trial.sample
    contents = [
        *(m["content"] for m in sample["input"]),
        output or (),
        *sample["references"][:3],
    ]
    texts = [str(sample["id"])]
    texts += [
        str(part["text"])[:MAX_SEARCHED]
        for content in contents
        for part in content
        if part.get("text")
    ]
    if error is not None:
        texts.append(str(error.get("message", "")))
    if trial.scores is not None:
        texts += [
            str(score["reason"])
            for score in trial.scores["scores"].values()
            if score.get("reason")
        ]
    return "\n".join(texts)[:MAX_SEARCHED]


def lacking(ours: TaskRow, task: str) -> frozenset[str]:
    """The numbers unavailable in all of a task, by ``mmeval`` in the results file."""
    rows = (
        row
        for row in ours.get("results", ())
        if row["task"] == task and not row.get("slice")
    )
    return frozenset(
        row["metric"] for row in rows if is_unavailable(Result.from_json(row))
    )


def _status(error: TaskRow | None, row: TaskRow, lacking: Container[str]) -> str:
    """A trial's status by its score row.
    What is ``lacking`` in all of the task counts only where there is nothing else."""
    if error is not None:
        return "unsupported" if error.get("kind") == "unsupported" else "failed"
    if row.get("refused"):
        return "refused"
    scores: Mapping[str, TaskRow] = row.get("scores", {})
    telling = [score for name, score in scores.items() if name not in lacking]
    found = {score.get("status", "scored") for score in telling or scores.values()}
    return next((status for status in _WORST if status in found), "unscored")


def _metric(name: str, higher_is_better: Any, spread: Any) -> dict[str, Any]:
    return {"name": name, "higher_is_better": bool(higher_is_better), "range": spread}


def _finite(value: Any) -> float | None:
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None
