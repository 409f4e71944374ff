"""Pools of scoring processes.

If a process dies, the trial that caused this is unscored.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from mmeval import plugins
from mmeval.broker.cluster.ray_cluster import RayCluster
from mmeval.errors import MmevalError
from mmeval.metric.bound import bind
from mmeval.metric.contract import load_metric
from mmeval.metric.scoring.trial_rows import ScoringPlan, score_row, trial_from
from mmeval.metric.scoring.worker import (
    QueuedTrial,
    ScoredRows,
    ScoringSetup,
    ScoringWorker,
    score,
    start,
)
from mmeval.records.score import Score
from mmeval.system.json_lines import from_line
from mmeval.system.processes import CopyContext, FreshContext

T = TypeVar("T")


class ThreadScorer:
    """Scores in one thread of this process, so metrics need not be thread-safe."""

    def __init__(self, plans: Sequence[ScoringPlan]) -> None:
        self._worker = ScoringWorker(plans)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mmeval-score")

    async def rows(self, items: Sequence[QueuedTrial]) -> ScoredRows:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._worker.score, items
        )

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class ScorePool:
    """A pool of ``count`` scoring processes on this machine or actors in a ``cluster``.

    The processes start when the first work arrives. ``setup`` is their configuration.
    """

    def __init__(
        self,
        setup: ScoringSetup,
        count: int,
        *,
        fork: bool = False,
        cluster: RayCluster | None = None,
    ) -> None:
        self._setup, self._count, self._cluster = setup, count, cluster
        self._pool = self._new(count, fork=fork)
        self._retrying = asyncio.Lock()
        self._under_way = 0

    def _new(self, count: int, *, fork: bool | None = None) -> Executor:
        """Creates processes.

        By default, the processes are forked only if a script has registered plugins.
        """
        if self._cluster is not None:
            from mmeval.metric.scoring.ray_executor import RayExecutor

            return RayExecutor(self._cluster, self._setup, count)
        forked = plugins.any_of_script() if fork is None else fork
        context = CopyContext() if forked else FreshContext()
        return ProcessPoolExecutor(
            count, mp_context=context, initializer=start, initargs=(self._setup,)
        )

    def prepare(self, work: Callable[[], object]) -> None:
        """Starts a process before it is needed, by sending it some work."""
        # A dead process is reported with the first trials.
        with contextlib.suppress(BrokenProcessPool):
            self._pool.submit(work)

    def compute(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Returns the results of ``works``.

        Raises the errors that ``works`` raise, and MmevalError if one of them kills a
        process.
        """
        self._under_way += 1
        try:
            results = list(self._pool.map(_call, works))
        # The process may have died earlier, with a trial or idle, so try once more.
        except BrokenProcessPool:
            self._pool = self._new(self._count)
            try:
                results = list(self._pool.map(_call, works))
            except BrokenProcessPool:
                raise MmevalError(
                    "the scoring process died while it computed the results (out of "
                    "memory, or a library crashed). The scores are kept: run the same "
                    "command again, or with --score_workers 0"
                ) from None
        self._under_way -= 1
        return results

    async def rows(self, items: Sequence[QueuedTrial]) -> ScoredRows:
        """Returns a row for each trial, even if the process that scores them dies."""
        pool = self._pool
        self._under_way += 1
        try:
            rows = await _score_in(pool, items)
        except BrokenProcessPool:
            # A RayExecutor replaces a dead actor itself, so it needs no new pool.
            if self._pool is pool and self._cluster is None:
                self._pool = self._new(self._count)
            async with self._retrying:
                rows = await self._apart(items)
        # Not counted down if this is cancelled, because the process still works then.
        self._under_way -= 1
        return rows

    async def _apart(self, items: Sequence[QueuedTrial]) -> ScoredRows:
        """Scores trials in separate processes after their process died.

        The trials are halved until the trial that kills the process is found.

        If a single trial kills a new process, the trial is unscored. If a process
        survives, it also scores the next half, so that its models are loaded once.
        """
        pool: Executor | None = None
        pending, scored = [list(items)], ScoredRows([], 0.0)
        try:
            while pending:
                piece, is_used = pending.pop(), pool is not None
                pool = pool or self._new(1)
                try:
                    rows = await _score_in(pool, piece)
                except BrokenProcessPool:
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = None
                    # A used process may have died from the effects of earlier trials.
                    if len(piece) > 1 or is_used:
                        middle = len(piece) // 2
                        pending.append(piece[middle:])
                        if middle:
                            pending.append(piece[:middle])
                        continue
                    rows = ScoredRows([_unscored_row(self._setup.plans, piece[0])], 0.0)
                scored = ScoredRows(
                    [*scored.rows, *rows.rows], scored.seconds + rows.seconds
                )
        finally:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
        return scored

    def close(self) -> None:
        # A stopped run does not wait for a metric. The next session scores again.
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        for process in processes if self._under_way else ():
            process.terminate()
        try:
            # Wait, because a pool that is still shutting down when Python ends prints
            # an error. This takes milliseconds.
            self._pool.shutdown(wait=True, cancel_futures=True)
        # Python 3.11 then treats the pool's thread as ended, and waits for the
        # processes
        except KeyboardInterrupt:
            for process in processes:
                process.terminate()
            raise


async def _score_in(pool: Executor, items: Sequence[QueuedTrial]) -> ScoredRows:
    return await asyncio.get_running_loop().run_in_executor(pool, score, items)


def _call(work: Callable[[], T]) -> T:
    return work()


def _unscored_row(plans: Sequence[ScoringPlan], item: QueuedTrial) -> bytes:
    """Returns the row of a trial that killed its process."""
    position, line = item
    plan, row = plans[position], from_line(line)
    reason = (
        "the scoring process died on this answer (out of memory, out of time, or a "
        "library crashed)"
    )
    outputs: list[str] = []
    for name, switches, profile in plan.metrics:
        outputs += bind(load_metric(name), switches, profile).metric.outputs
    scores = {name: Score.unavailable(why) for name, why in plan.unavailable.items()}
    scores |= dict.fromkeys(outputs, Score.lost(reason))
    return score_row(row, trial_from(row, plan.media_root), plan, scores)
