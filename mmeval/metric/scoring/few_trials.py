"""Scores a few short trials in the process of the run, without a scoring process."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.metric.contract import load_metric
from mmeval.metric.scoring.pool import ScorePool
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import (
    QueuedTrial,
    ScoredRows,
    ScoringSetup,
    ScoringWorker,
)

FEW_TRIALS = 300
"""The maximum number of trials that a run scores without a scoring process.

Starting a process takes as long as scoring about this many trials with cheap metrics.
"""
SHORT_BYTES = 2**13
"""The maximum length of a trial's line in bytes. A metric may take time that grows with
the square of an answer's length, and calls wait meanwhile."""
_CHEAP = ("mmeval.metrics.structure.", "mmeval.metrics.text.")
"""The modules of metrics that only compare texts, in well under a millisecond."""


def are_cheap(plans: Sequence[ScoringPlan]) -> bool:
    """Returns True if the metrics of all tasks are mmeval's own and only compare texts.

    They open no media, import no optional package, and cannot end their process.
    """
    return all(map(_is_cheap, plans))


def _is_cheap(plan: ScoringPlan) -> bool:
    if plan.batch:
        return False
    for name, _, _ in plan.metrics:
        metric = load_metric(name)
        is_own = metric.function.__module__.startswith(_CHEAP)
        if not is_own or metric.needs:
            return False
    return True


class FewTrialsScorer:
    """Scores short trials between calls, in the thread of the event loop.

    The main thread receives the alarms of the time limit. Longer trials are scored in a
    process, which starts with the first of them.
    """

    def __init__(self, setup: ScoringSetup) -> None:
        self._setup = setup
        self._worker = ScoringWorker(setup.plans, setup.seconds)
        self._pool: ScorePool | None = None

    async def rows(self, items: Sequence[QueuedTrial]) -> ScoredRows:
        longest = max(len(line) for _, line in items)
        if longest <= SHORT_BYTES:
            return self._worker.score(items)
        if self._pool is None:
            self._pool = ScorePool(self._setup, 1)
        return await self._pool.rows(items)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()
