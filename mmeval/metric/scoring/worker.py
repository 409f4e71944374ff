"""A scoring process: makes rows of trials in any order, each metric loaded once."""

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
"""A metric that needs longer for one trial leaves it unscored. Loading a model is no
trial's time."""
NICENESS = 5
"""Asking goes first: where cores are short, what keeps the model or its server busy is
worth more than a score now."""

SAMPLES_KEPT = 4
"""By a process: as many as may be under way side by side when their repeats arrive
mixed up a little."""

Item = tuple[int, bytes]
"""A trial that is to be scored: the position of its task's plan, and its line."""


class Rows(NamedTuple):
    """A row for each trial of a message, and the seconds that they took."""

    rows: list[bytes]
    seconds: float


class _LastSamples:
    """The samples of the last trials, as repeats share their decoded media. Only few
    are kept, since decoded media are large; the repeats of a sample come close
    together."""

    def __init__(self) -> None:
        self._kept: deque[tuple[Any, Path, Sample]] = deque(maxlen=SAMPLES_KEPT)

    def of(self, row: Mapping[str, Any], media_root: Path) -> Sample:
        """The sample of a trial's line."""
        written = row["sample"]
        for kept in self._kept:
            if kept[0] == written and kept[1] == media_root:
                self._kept.remove(kept)
                break
        else:
            kept = (written, media_root, Sample.from_json(written, media_root))
        self._kept.append(kept)
        return kept[2]


class ScoringWorker:
    """What a scoring process holds: the plans, and each task's metrics once loaded."""

    def __init__(
        self, plans: Sequence[ScoringPlan], seconds: float = METRIC_SECONDS
    ) -> None:
        self._plans = plans
        self._metrics: dict[int, list[BoundMetric]] = {}
        self._samples = _LastSamples()
        self._limit = TimeLimit(seconds)

    def score(self, items: Sequence[Item]) -> Rows:
        """Rows for trials, in order; batched metrics score a task's neighbours
        together."""
        started = time.perf_counter()
        rows: list[bytes] = []
        with self._limit.alarmed():
            for position, group in itertools.groupby(items, itemgetter(0)):
                lines = [line for _, line in group]
                step = len(lines) if self._plans[position].batch else 1
                for start in range(0, len(lines), step):
                    rows += self._scored(position, lines[start : start + step])
        return Rows(rows, time.perf_counter() - started)

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
        found = []
        for row, trial, own in zip(rows, trials, scores, strict=True):
            found.append(score_row(row, trial, plan, own))
        return found


class Setup(NamedTuple):
    """How a scoring process begins; ``threads``: libraries may use every core."""

    plans: Sequence[ScoringPlan]
    seconds: float
    device: str
    threads: bool = False


_worker: ScoringWorker | None = None


def start(setup: Setup) -> None:
    """Make this process, a child of multiprocessing, one that scores."""
    settle_signals()
    end_with(parent_id())
    settle(setup)


def settle(setup: Setup) -> None:
    """Set this process up to score."""
    global _worker  # noqa: PLW0603  what a worker process is
    if not setup.threads:
        # Processes run side by side, so one of them needs no threads for linear
        # algebra; numpy starts them on its import, which takes twice the CPU. A setting
        # of the user's stands.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # bars of libraries that load models: the run has its own
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.nice(NICENESS)
    use_device(setup.device)
    _worker = ScoringWorker(setup.plans, setup.seconds)
    collector.settle()


def score(items: Sequence[Item]) -> Rows:
    """What a process that is set up is asked to do."""
    assert _worker is not None
    return _worker.score(items)


def is_ready() -> bool:
    return True
