"""The processes that score; when one dies, the trial at fault becomes unscored."""

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
from mmeval.metric.scoring.worker import Item, Rows, ScoringWorker, Setup, score, start
from mmeval.records.score import Score
from mmeval.system.json_lines import from_line
from mmeval.system.processes import CopyContext, FreshContext

T = TypeVar("T")


class ThreadScorer:
    """One thread of this process that scores: metrics need not be thread-safe."""

    def __init__(self, plans: Sequence[ScoringPlan]) -> None:
        self._worker = ScoringWorker(plans)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mmeval-score")

    async def rows(self, items: Sequence[Item]) -> Rows:
        return await asyncio.get_running_loop().run_in_executor(
            self._thread, self._worker.score, items
        )

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class ScorePool:
    """``count`` processes that score, set up by ``setup``, started by the first work.
    They are of this machine, or actors of a ``cluster``."""

    def __init__(
        self,
        setup: Setup,
        count: int,
        *,
        fork: bool = False,
        cluster: RayCluster | None = None,
    ) -> None:
        self._setup, self._count, self._cluster = setup, count, cluster
        self._pool = self._new(count, fork=fork)
        self._alone = asyncio.Lock()
        self._under_way = 0

    def _new(self, count: int, *, fork: bool | None = None) -> Executor:
        """Make processes; forked by default only where a script registered plugins."""
        if self._cluster is not None:
            from mmeval.metric.scoring.ray_executor import RayExecutor

            return RayExecutor(self._cluster, self._setup, count)
        forked = plugins.any_of_script() if fork is None else fork
        context = CopyContext() if forked else FreshContext()
        return ProcessPoolExecutor(
            count, mp_context=context, initializer=start, initargs=(self._setup,)
        )

    def prepare(self, work: Callable[[], object]) -> None:
        """Let a process do something early while it waits for trials."""
        with contextlib.suppress(BrokenProcessPool):  # told where it matters
            self._pool.submit(work)

    def compute(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Results of ``works``. Raises their errors; MmevalError if they kill a
        process."""
        self._under_way += 1
        try:
            found = list(self._pool.map(_call, works))
        except BrokenProcessPool:  # it may have died before, of a trial or idle
            self._pool = self._new(self._count)
            try:
                found = list(self._pool.map(_call, works))
            except BrokenProcessPool:
                raise MmevalError(
                    "the scoring process died while it made the numbers (out of "
                    "memory, or a library crashed). The scores "
                    "are kept: the same command makes the numbers again; with "
                    "--score_workers 0 in its own process"
                ) from None
        self._under_way -= 1
        return found

    async def rows(self, items: Sequence[Item]) -> Rows:
        """A row for each trial, whatever becomes of the process that makes them."""
        pool = self._pool
        self._under_way += 1
        try:
            rows = await _asked(pool, items)
        except BrokenProcessPool:
            # a cluster's actors are replaced one by one
            if self._pool is pool and self._cluster is None:
                self._pool = self._new(self._count)
            async with self._alone:
                rows = await self._apart(items)
        self._under_way -= (
            1  # not where this is cancelled: then the process is still at work
        )
        return rows

    async def _apart(self, items: Sequence[Item]) -> Rows:
        """Score trials apart after their process died, and halves when that dies too.
        The one trial that kills even its own process is unscored. A process that lives
        goes on with the next half, so that what it has loaded is loaded once."""
        pool: Executor | None = None
        left, found = [list(items)], Rows([], 0.0)
        try:
            while left:
                piece, is_used = left.pop(), pool is not None
                pool = pool or self._new(1)
                try:
                    made = await _asked(pool, piece)
                except BrokenProcessPool:
                    pool.shutdown(wait=False, cancel_futures=True)
                    pool = None
                    # A process that had scored others may have died of what they left.
                    if len(piece) > 1 or is_used:
                        middle = len(piece) // 2
                        left.append(piece[middle:])
                        if middle:
                            left.append(piece[:middle])
                        continue
                    made = Rows([_blamed(self._setup.plans, piece[0])], 0.0)
                found = Rows([*found.rows, *made.rows], found.seconds + made.seconds)
        finally:
            if pool is not None:
                pool.shutdown(wait=False, cancel_futures=True)
        return found

    def close(self) -> None:
        # A metric that is still at work when the run was stopped is not waited for: it
        # scores again next time.
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        for process in processes if self._under_way else ():
            process.terminate()
        try:
            # Waiting takes milliseconds; a pool that is still winding down when Python
            # ends complains on stderr.
            self._pool.shutdown(wait=True, cancel_futures=True)
        # Python 3.11 takes the pool's thread for ended then, and waits for the
        # processes
        except KeyboardInterrupt:
            for process in processes:
                process.terminate()
            raise


async def _asked(pool: Executor, items: Sequence[Item]) -> Rows:
    return await asyncio.get_running_loop().run_in_executor(pool, score, items)


def _call(work: Callable[[], T]) -> T:
    return work()


def _blamed(plans: Sequence[ScoringPlan], item: Item) -> bytes:
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
