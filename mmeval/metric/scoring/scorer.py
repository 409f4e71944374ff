"""Scores finished trials while requests are in flight, and delivers their rows.

If the metrics of a task use models, its trials go to a separate process. All other
trials go to the ordinary processes (see :mod:`mmeval.metric.scoring.scoring_queue`). If
a metric kills its process, only that trial is unscored, with the reason.
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
from mmeval.metric.scoring.few_trials import FEW_TRIALS, FewTrialsScorer, are_cheap
from mmeval.metric.scoring.pool import ScorePool, ThreadScorer
from mmeval.metric.scoring.scoring_queue import ScoringQueue
from mmeval.metric.scoring.trial_rows import ScoringPlan
from mmeval.metric.scoring.worker import ScoringSetup

LEAST_MESSAGES = 8
"""The minimum number of messages in flight to the ordinary processes together. With
many processes, two messages are in flight to each."""
MESSAGES_FOR_MODELS = 2
T = TypeVar("T")
log = logging.getLogger(__name__)


class Scorer:
    """Sends finished trials to the scoring processes and delivers their rows.

    ``deliver(position, rows)`` is called in the event loop's thread. Without workers, a
    thread of this process scores the trials. ``device`` is the device of the metrics'
    models. If the engine of the ``cluster`` has scoring processes, its actors replace
    the ordinary processes. Metrics with models are still computed on this machine.
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
        self._few: FewTrialsScorer | None = None
        self._pool: ScorePool | None = None
        self._model_pool: ScorePool | None = None
        self._actors: ScorePool | None = None
        self._ordinary = self._queue(self._here, LEAST_MESSAGES)
        self._models = self._queue(self._here, MESSAGES_FOR_MODELS)
        self._failure: BaseException | None = None
        self._has_asked_models = False

    def start(self, most_trials: int | None = None) -> None:
        """Starts the processes, before the event loop, its threads and the folder lock.

        ``most_trials`` is an upper limit of the number of trials, or None if it is not
        known yet. A few trials with cheap metrics need no process. Raises MissingError
        if a metric needs a device that this machine does not have.
        """
        # A forked process must not inherit the event loop, threads or lock. Plugins
        # that a script registers exist only in forked processes. If forking is not
        # possible, this process scores. Only one pool can be forked, so a single forked
        # process then loads the models and scores everything.
        forkable = sys.platform == "linux" and threading.active_count() == 1
        with_models = any(plan.batch for plan in self._plans)
        of_script = plugins.any_of_script()
        is_few = most_trials is not None and most_trials <= FEW_TRIALS
        if self._cluster is not None and not of_script:
            count = self._cluster.engine.score_workers
            self._actors = ScorePool(
                self._setup(threads=False), count, cluster=self._cluster
            )
            self._ordinary = self._queue(self._actors, max(LEAST_MESSAGES, 2 * count))
            if with_models:
                self._model_pool = ScorePool(self._setup(threads=True), 1)
                self._models = self._queue(self._model_pool, MESSAGES_FOR_MODELS)
        elif self._workers and is_few and are_cheap(self._plans):
            self._few = FewTrialsScorer(self._setup(threads=False))
            self._ordinary = self._queue(self._few, LEAST_MESSAGES)
        elif self._workers and (forkable or not of_script):
            together = with_models and of_script
            count = 1 if together else self._workers
            self._pool = ScorePool(self._setup(threads=together), count, fork=forkable)
            # This starts one process, or all of them if forked, without waiting.
            self._pool.prepare(worker.is_ready)
            messages = max(LEAST_MESSAGES, 2 * self._workers)
            self._ordinary = self._queue(self._pool, messages)
            if together:
                self._models = self._queue(self._pool, MESSAGES_FOR_MODELS)
            elif with_models:
                self._model_pool = ScorePool(self._setup(threads=True), 1)
                self._models = self._queue(self._model_pool, MESSAGES_FOR_MODELS)
        elif self._workers:
            log.warning(
                "the trials are scored in this process, because other processes do not "
                "have the plugins that the script registered"
            )
        use_device(self._device)  # for metrics that this process scores
        if with_models:
            require_device(self._device)

    def _setup(self, *, threads: bool) -> ScoringSetup:
        return ScoringSetup(self._plans, worker.METRIC_SECONDS, self._device, threads)

    def _queue(
        self, processes: ScorePool | ThreadScorer | FewTrialsScorer, messages: int
    ) -> ScoringQueue:
        return ScoringQueue(
            self._plans, processes.rows, self._deliver, self._fail, messages=messages
        )

    @property
    def left_to_models(self) -> int:
        """The number of trials that wait for metrics with models.

        Trials that these metrics are scoring now are included.
        """
        return self._models.unfinished

    async def add(self, position: int, line: bytes) -> None:
        """Queues a trial. Waits only if too many trials are queued.

        Raises errors of earlier deliveries.
        """
        if self._failure is not None:
            raise self._failure
        if self._plans[position].batch:
            self._has_asked_models = True
            await self._models.add(position, line)
        else:
            await self._ordinary.add(position, line)

    async def drain(self) -> None:
        """Waits until all queued trials are scored and delivered."""
        await self._ordinary.drain()
        await self._models.drain()
        if self._failure is not None:
            raise self._failure

    def compute(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Returns the results of ``works``, computed by the processes.

        Without processes, this process computes them.

        Each of ``works`` is a module's function or a ``partial`` of such a function.
        Raises the errors that ``works`` raise, and MmevalError if one of them kills a
        process.
        """
        if self._pool is None:
            return [work() for work in works]
        return self._pool.compute(works)

    def device_of_models(self) -> str:
        """Returns the device of the loaded models, in torch's spelling.

        The string is empty if no model is loaded.
        """
        pool = self._model_pool or self._pool
        if not self._has_asked_models or pool is None:
            return used_device()
        # If the process died, the scores exist, but their device is unknown.
        with contextlib.suppress(MmevalError):
            return pool.compute([used_device])[0]
        return ""

    def close(self) -> None:
        self._ordinary.close()
        self._models.close()
        self._here.close()
        for pool in (self._few, self._model_pool, self._pool, self._actors):
            if pool is not None:
                pool.close()

    def _fail(self, error: BaseException) -> None:
        """Keeps an error, which the next call of ``add`` or ``drain`` raises."""
        self._failure = self._failure or error


def left_to_models(count: int) -> str:
    """Returns the text that shows progress when only metrics with models are left."""
    return f"trials waiting for metrics with models: {count:,}"
