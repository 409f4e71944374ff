"""Scores finished trials while requests are in flight and returns their rows.

Trials of tasks whose metrics use models go to a process of their own, all others to the
ordinary ones (see :mod:`mmeval.metric.scoring.lane`). A metric that kills its process
costs that one trial its score, with the reason.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from mmeval import plugins
from mmeval.broker.cluster.ray_cluster import RayCluster
from mmeval.errors import MmevalError
from mmeval.metric.device import AUTO, require_device, use_device, used_device
from mmeval.metric.scoring import worker
from mmeval.metric.scoring.lane import Lane
from mmeval.metric.scoring.pool import ScorePool, ThreadScorer
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import Setup

LEAST_MESSAGES = 8
"""In flight to the ordinary processes; where these are many, two for each: one that is
scored and one that follows."""
MESSAGES_FOR_MODELS = 2
T = TypeVar("T")
log = logging.getLogger(__name__)


class Scorer:
    """Sends finished trials to the processes and hands the rows back, in batches.

    ``deliver(position, rows)`` is called in the event loop's thread. With no workers
    the scoring happens in a thread of this process. ``device`` is where the models of
    metrics go. Actors of a ``cluster`` take the place of the ordinary processes where
    its engine has some; models stay here, and so do the numbers.
    """

    def __init__(
        self,
        plans: Sequence[ScoringPlan],
        workers: int,
        deliver: Callable[[int, bytes], None],
        device: str = AUTO,
        cluster: RayCluster | None = None,
    ) -> None:
        self._plans = plans
        self._workers = workers
        self._deliver = deliver
        self._device = device
        self._cluster = None
        if cluster is not None and cluster.engine.score_workers:
            self._cluster = cluster
        self._here = ThreadScorer(plans)
        self._pool: ScorePool | None = None
        self._model_pool: ScorePool | None = None
        self._actors: ScorePool | None = None
        self._ordinary = self._lane(self._here, LEAST_MESSAGES)
        self._models = self._lane(self._here, MESSAGES_FOR_MODELS)
        self._failure: BaseException | None = None
        self._has_asked_models = False

    def start(self) -> None:
        """Start the processes, before the event loop, its threads and the folder's
        lock. A forked process may inherit none of these.

        What a script has registered is known to forked processes alone; where none can
        be had, this process scores. Only one kind can be forked, so that one forked
        process holds the models and scores everything else too. Raises MissingError for
        a device that this machine has not, where a metric would put its model there.
        """
        forkable = sys.platform == "linux" and threading.active_count() == 1
        with_models = any(plan.batch for plan in self._plans)
        of_script = plugins.any_of_script()
        if self._cluster is not None and not of_script:
            count = self._cluster.engine.score_workers
            self._actors = ScorePool(
                self._setup(threads=False), count, cluster=self._cluster
            )
            self._ordinary = self._lane(self._actors, max(LEAST_MESSAGES, 2 * count))
            if with_models:
                self._model_pool = ScorePool(self._setup(threads=True), 1)
                self._models = self._lane(self._model_pool, MESSAGES_FOR_MODELS)
        elif self._workers and (forkable or not of_script):
            together = with_models and of_script
            count = 1 if together else self._workers
            self._pool = ScorePool(self._setup(threads=together), count, fork=forkable)
            # starts a process without waiting; all of them where they are forked
            self._pool.prepare(worker.is_ready)
            messages = max(LEAST_MESSAGES, 2 * self._workers)
            self._ordinary = self._lane(self._pool, messages)
            if together:
                self._models = self._lane(self._pool, MESSAGES_FOR_MODELS)
            elif with_models:
                self._model_pool = ScorePool(self._setup(threads=True), 1)
                self._models = self._lane(self._model_pool, MESSAGES_FOR_MODELS)
        elif self._workers:
            log.warning(
                "this process scores: others would not know the plugins that a script "
                "has registered"
            )
        use_device(self._device)  # of what is scored here
        if with_models:
            require_device(self._device)

    def _setup(self, *, threads: bool) -> Setup:
        return Setup(self._plans, worker.METRIC_SECONDS, self._device, threads)

    def _lane(self, processes: ScorePool | ThreadScorer, messages: int) -> Lane:
        return Lane(
            self._plans, processes.rows, self._deliver, self._fail, messages=messages
        )

    @property
    def left_to_models(self) -> int:
        """Trials that wait for a score by a model, or are at it."""
        return self._models.left

    async def add(self, position: int, line: bytes) -> None:
        """Queue a trial; waits only when workers are far behind. Raises delivery
        errors."""
        if self._failure is not None:
            raise self._failure
        if self._plans[position].batch:
            self._has_asked_models = True
            await self._models.add(position, line)
        else:
            await self._ordinary.add(position, line)

    async def drain(self) -> None:
        """Wait until everything that was queued is scored and delivered."""
        await self._ordinary.drain()
        await self._models.drain()
        if self._failure is not None:
            raise self._failure

    def compute(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Results of ``works``, by the processes, or here where there are none. Each is
        a module function or a ``partial``. Raises their errors; MmevalError if they
        kill a process."""
        if self._pool is None:
            return [work() for work in works]
        return self._pool.compute(works)

    def device_of_models(self) -> str:
        """The device of the metrics' models, as torch writes it; empty: none was
        loaded."""
        pool = self._model_pool or self._pool
        if not self._has_asked_models or pool is None:
            return used_device()
        # the scores are there; only where they were made is not known
        with contextlib.suppress(MmevalError):
            return pool.compute([used_device])[0]
        return ""

    def close(self) -> None:
        self._ordinary.close()
        self._models.close()
        self._here.close()
        for pool in (self._model_pool, self._pool, self._actors):
            if pool is not None:
                pool.close()

    def _fail(self, error: BaseException) -> None:
        """What went wrong is raised by the next who adds a trial, or waits for all."""
        self._failure = self._failure or error


def left_to_models(left: int) -> str:
    """The progress note while everything else is done."""
    return f"trials left to the models of metrics: {left:,}"
