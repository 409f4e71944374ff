"""A scoring process, which scores trials in any order and loads each metric once."""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.metric.bound import BoundMetric, bind
from mmeval.metric.contract import load_metric
from mmeval.metric.device import use_device
from mmeval.metric.scoring.trial_rows import (
    ScoringPlan,
    score_row,
    score_trials,
    trial_from,
)
from mmeval.records.sample import Sample
from mmeval.system import collector
from mmeval.system.json_lines import from_line
from mmeval.system.processes import end_with, parent_id, settle_signals
from mmeval.system.time_limit import TimeLimit

METRIC_SECONDS = 300.0
"""The maximum number of seconds of a metric for one trial, without loading models. If
the metric takes longer, the trial is unscored."""
NICENESS = 5
"""The niceness of scoring processes. Their priority is lower than that of the processes
that send requests to the model."""

SAMPLES_KEPT = 4
"""The number of samples that a process caches. It is more than one, because the repeats
of several samples may arrive interleaved."""

QueuedTrial = tuple[int, bytes]
"""A trial to score: the position of its task's plan, and the line of the trial."""


class ScoredRows(NamedTuple):
    """A row for each trial of a message, and the seconds that scoring them took."""

    rows: list[bytes]
    seconds: float


class _LastSamples:
    """A small cache of samples, so that repeats share the decoded media.

    Decoded media are large, and the repeats of a sample arrive close together.
    """

    def __init__(self) -> None:
        self._cached: deque[tuple[Any, Path, Sample]] = deque(maxlen=SAMPLES_KEPT)

    def of(self, row: Mapping[str, Any], media_root: Path) -> Sample:
        """Returns the sample in the line of a trial."""
        written = row["sample"]
        for cached in self._cached:
            if cached[0] == written and cached[1] == media_root:
                self._cached.remove(cached)
                break
        else:
            cached = (written, media_root, Sample.from_json(written, media_root))
        self._cached.append(cached)
        return cached[2]


class ScoringWorker:
    """The state of a scoring process: the plans, and the loaded metrics by task."""

    def __init__(
        self, plans: Sequence[ScoringPlan], seconds: float = METRIC_SECONDS
    ) -> None:
        self._plans = plans
        self._metrics: dict[int, list[BoundMetric]] = {}
        self._samples = _LastSamples()
        self._limit = TimeLimit(seconds)

    def score(self, items: Sequence[QueuedTrial]) -> ScoredRows:
        """Returns the rows of trials, in order.

        Batched metrics score neighbouring trials of a task together.
        """
        started = time.perf_counter()
        rows: list[bytes] = []
        with self._limit.alarmed():
            for position, group in itertools.groupby(items, itemgetter(0)):
                lines = [line for _, line in group]
                step = len(lines) if self._plans[position].batch else 1
                for start in range(0, len(lines), step):
                    rows += self._scored(position, lines[start : start + step])
        return ScoredRows(rows, time.perf_counter() - started)

    def _scored(self, position: int, lines: Sequence[bytes]) -> list[bytes]:
        plan = self._plans[position]
        metrics = self._metrics.get(position)
        if metrics is None:
            metrics = []
            for name, params, profile in plan.metrics:
                metrics.append(bind(load_metric(name), params, profile))
            self._metrics[position] = metrics
        rows = [from_line(line) for line in lines]
        trials = []
        for row in rows:
            sample = self._samples.of(row, plan.media_root)
            trials.append(trial_from(row, plan.media_root, sample=sample))
        scores = score_trials(trials, plan, metrics, self._limit)
        score_rows = []
        for row, trial, trial_scores in zip(rows, trials, scores, strict=True):
            score_rows.append(score_row(row, trial, plan, trial_scores))
        return score_rows


class ScoringSetup(NamedTuple):
    """The configuration of a scoring process.

    ``seconds`` is the time limit for a trial. With ``threads``, libraries may use all
    cores.
    """

    plans: Sequence[ScoringPlan]
    seconds: float
    device: str
    threads: bool = False


_worker: ScoringWorker | None = None


def start(setup: ScoringSetup) -> None:
    """Sets up a child process of multiprocessing, so that it can score trials."""
    settle_signals()
    end_with(parent_id())
    settle(setup)


def settle(setup: ScoringSetup) -> None:
    """Sets up this process, so that it can score trials."""
    global _worker  # noqa: PLW0603  what a worker process is
    if not setup.threads:
        # Several processes run in parallel, so threads for linear algebra would only
        # double the CPU time. numpy starts them on import. The user's setting wins.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The run has its own progress bar, so hide those of libraries that load models.
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.nice(NICENESS)
    use_device(setup.device)
    _worker = ScoringWorker(setup.plans, setup.seconds)
    collector.settle()


def score(items: Sequence[QueuedTrial]) -> ScoredRows:
    """Scores trials in a process that has been set up."""
    assert _worker is not None
    return _worker.score(items)


def is_ready() -> bool:
    return True
