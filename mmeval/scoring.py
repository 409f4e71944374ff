"""Scoring: trials become score rows, in worker processes, while requests are still in flight.

A trial travels as one line of JSON (what the journal and the sample file hold anyway), is decoded once, and all metrics
of its task score the same objects. A metric that kills its process costs that one trial its score, with the reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from mmeval import garbage, plugins
from mmeval.content import Interleaved
from mmeval.errors import MmevalError
from mmeval.lines import from_line, to_line
from mmeval.metric import BoundMetric, load_metric
from mmeval.records import ErrorInfo, Exchange, Response, Sample, Score, Trial
from mmeval.spawning import FreshContext
from mmeval.timelimit import TimeLimit

FIRST_BATCH, LARGEST_BATCH = 16, 512
LARGEST_BATCH_BYTES = 2**20
BATCH_SECONDS = 0.2
"""A batch holds as many trials as keep a process busy for about this long: few handovers where a metric is quick, work
for every process where it is slow."""
IDLE_FLUSH = 0.5
"""Seconds after which a batch goes although it is not full."""
BATCHES_IN_FLIGHT = 8
"""At least; where there are many processes, two for each: one that is scored and one that follows."""
T = TypeVar("T")
log = logging.getLogger(__name__)
WORKER_NICENESS = 5
"""Asking goes first: where cores are short, what keeps the model or its server busy is worth more than a score now."""
METRIC_SECONDS = 300.0
"""A metric that needs longer for one trial leaves it unscored."""
_NO_LIMIT = TimeLimit(math.inf)


@dataclass(frozen=True)
class ScoringPlan:
    """What a worker must know of one task. Metrics are named, so that a plan can be sent to a fresh process.

    ``metrics`` are (plugin name, switches, profile); ``unavailable`` maps outputs to the reason known before the run.
    """

    task: str
    metrics: tuple[tuple[str, Mapping[str, Any], str], ...]
    unavailable: Mapping[str, str]
    missing_output: float | None
    labels: tuple[str, ...]
    cluster_key: str
    media_root: Path
    judged_outputs: tuple[str, ...] = ()


def trial_line(
    sample_line: bytes,
    *,
    index: int,
    repeat: int,
    digest: str,
    exchanges: Sequence[Exchange],
    responses: Sequence[bytes],
    output: Interleaved | None,
    error: ErrorInfo | None,
) -> bytes:
    """A trial as one JSON object. ``output`` is spelt out only where it is not the only exchange's own output."""
    calls = b",".join(
        b'{"path":"%s","role":%s,"d":"%s","response":%s}'
        % (e.path.encode(), to_line(e.role), e.request_digest.encode(), line)
        for e, line in zip(exchanges, responses, strict=True)
    )
    same = len(exchanges) == 1 and output is exchanges[0].response.output
    tail = b"" if same or output is None else b',"output":' + to_line(output.to_json())
    tail += b"" if error is None else b',"error":' + to_line(error.to_json())
    head = b'{"i":%d,"n":%d,"d":"%s","sample":%s' % (index, repeat, digest.encode(), sample_line)
    return b'%s,"exchanges":[%s]%s}' % (head, calls, tail)


def trial_from(row: Mapping[str, Any], media_root: Path) -> Trial:
    """The trial of a line made by :func:`trial_line`."""
    exchanges = tuple(
        Exchange(e["path"], e["role"], e["d"], Response.from_json(e["response"], media_root)) for e in row["exchanges"]
    )
    error = row.get("error")
    if error is not None:
        output = None
    elif "output" in row:
        output = Interleaved.from_json(row["output"], media_root)
    else:
        output = exchanges[0].response.output
    return Trial(
        sample=Sample.from_json(row["sample"], media_root),
        repeat=row["n"],
        exchanges=exchanges,
        output=output,
        error=None if error is None else ErrorInfo.from_json(error),
    )


def score_row(row: Mapping[str, Any], trial: Trial, plan: ScoringPlan, scores: Mapping[str, Score]) -> bytes:
    """One line of a score set."""
    status = "ok" if trial.error is None else "unsupported" if trial.error.kind == "unsupported" else "failed"
    record: dict[str, Any] = {"i": row["i"], "n": row["n"], "s": trial.sample.id, "d": row["d"], "status": status}
    if trial.error is not None:
        record["error"] = trial.error.to_json()
    record["scores"] = {name: scores[name].to_json() for name in sorted(scores)}
    if plan.labels:
        record["labels"] = {key: trial.sample.metadata.get(key) for key in plan.labels}
    if plan.cluster_key:
        cluster = trial.sample.metadata.get(plan.cluster_key)
        record["cluster"] = trial.sample.id if cluster is None else str(cluster)
    try:
        return to_line(record) + b"\n"
    except TypeError:
        record["scores"] = {name: _writable(scores[name]).to_json() for name in sorted(scores)}
        return to_line(record) + b"\n"


def _writable(score: Score) -> Score:
    """A score whose evidence JSON can hold; a metric that gives something else leaves the trial unscored."""
    try:
        to_line(score.to_json())
    except TypeError as error:
        return Score.unscored(f"the metric's evidence cannot be written: {error}")
    return score


def score_trial(
    trial: Trial, plan: ScoringPlan, metrics: Sequence[BoundMetric], limit: TimeLimit = _NO_LIMIT
) -> dict[str, Score]:
    """All scores of one trial that need no judge. A trial without an answer has none; an empty answer has the score
    that the benchmark defines for it, where it does."""
    if trial.error is not None:
        return {}
    scores = {name: Score.unavailable(reason) for name, reason in plan.unavailable.items()}
    missing = plan.missing_output is not None and trial.output is not None and trial.output.empty
    if missing:
        empty = Score(plan.missing_output, evidence={"missing_output": True})
        scores.update(dict.fromkeys(plan.judged_outputs, empty))
        return scores | {name: empty for bound in metrics for name in bound.metric.outputs}
    for bound in metrics:
        limit.begin()
        try:
            scores.update(bound.score(trial))
        except TimeoutError as late:  # the alarm came when the metric was through, and before its end was noted
            scores.update(bound.failed(late))
        finally:
            limit.end()
    return scores


class Worker:
    """What a worker process holds: the plans, and each task's metrics once they are loaded."""

    def __init__(self, plans: Sequence[ScoringPlan]) -> None:
        self._plans = plans
        self._metrics: dict[int, list[BoundMetric]] = {}
        self._limit = TimeLimit(METRIC_SECONDS)

    def score(self, batch: Sequence[tuple[int, bytes]]) -> tuple[list[bytes], float]:
        """Rows for trials given as (position of the plan, line), and the seconds that they took."""
        started = time.perf_counter()
        with self._limit.alarmed():
            rows = [self._score_one(position, line) for position, line in batch]
        return rows, time.perf_counter() - started

    def _score_one(self, position: int, line: bytes) -> bytes:
        plan, row = self._plans[position], from_line(line)
        metrics = self._metrics.get(position)
        if metrics is None:
            metrics = [load_metric(name).bind(params, profile) for name, params, profile in plan.metrics]
            self._metrics[position] = metrics
        trial = trial_from(row, plan.media_root)
        return score_row(row, trial, plan, score_trial(trial, plan, metrics, self._limit))


_worker: Worker | None = None


def _start_worker(plans: Sequence[ScoringPlan], seconds: float) -> None:
    global _worker, METRIC_SECONDS  # noqa: PLW0603  what a worker process is, and its limit
    METRIC_SECONDS = seconds
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Processes run side by side, so one of them needs no threads for linear algebra; numpy starts them on its import,
    # which takes twice the CPU. Somebody's own setting stands.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.nice(WORKER_NICENESS)
    threading.Thread(target=_die_with, args=(os.getppid(),), daemon=True).start()
    _worker = Worker(plans)
    garbage.settle()


def _die_with(parent: int) -> None:
    """A killed parent cannot say good-bye; its workers leave when they see that they were adopted."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _score_in_worker(batch: Sequence[tuple[int, bytes]]) -> tuple[list[bytes], float]:
    assert _worker is not None
    return _worker.score(batch)


def _ready() -> bool:
    return True


def _call(work: Callable[[], T]) -> T:
    return work()


class Scorer:
    """Sends finished trials to the workers and hands the rows back, in batches.

    ``deliver(position, rows)`` is called in the event loop's thread. With no workers the scoring happens in a thread
    of this process.
    """

    def __init__(self, plans: Sequence[ScoringPlan], workers: int, deliver: Callable[[int, bytes], None]) -> None:
        self._plans, self._workers, self._deliver = plans, workers, deliver
        self._pool: ProcessPoolExecutor | None = None
        self._local = Worker(plans)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="mmeval-score")  # metrics need not be thread-safe
        self._waiting: list[tuple[int, bytes]] = []
        self._waiting_bytes = 0
        self._batch_size = FIRST_BATCH
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Semaphore(max(BATCHES_IN_FLIGHT, 2 * workers))
        self._alone = asyncio.Lock()
        self._failure: BaseException | None = None
        self._under_way = 0

    def start(self) -> None:
        """Start the processes: before the event loop, its threads and the run folder's lock, none of which a forked
        process may inherit.

        What a script has registered is known to forked processes alone; where none can be had, this process scores.
        """
        forkable = sys.platform == "linux" and threading.active_count() == 1
        if self._workers and (forkable or not plugins.any_of_script()):
            self._pool = self._new_pool(self._workers, fork=forkable)
            self._pool.submit(_ready)
        elif self._workers:
            log.warning("this process scores: others would not know the plugins that a script has registered")

    def _new_pool(self, workers: int, *, fork: bool | None = None) -> ProcessPoolExecutor:
        """A pool that replaces a broken one is forked only where nothing else knows the plugins of a script."""
        forked = plugins.any_of_script() if fork is None else fork
        context = multiprocessing.get_context("fork") if forked else FreshContext()
        return ProcessPoolExecutor(
            workers, mp_context=context, initializer=_start_worker, initargs=(self._plans, METRIC_SECONDS)
        )

    async def add(self, position: int, line: bytes) -> None:
        """Queue a trial; waits only when the workers are far behind. Raises what went wrong while delivering rows."""
        if self._failure is not None:
            raise self._failure
        self._waiting.append((position, line))
        self._waiting_bytes += len(line)
        if len(self._waiting) >= self._batch_size or self._waiting_bytes >= LARGEST_BATCH_BYTES:
            await self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(IDLE_FLUSH, self._flush_idle)

    async def drain(self) -> None:
        """Wait until everything that was queued is scored and delivered."""
        await self._flush()
        while self._tasks:
            await asyncio.gather(*self._tasks)
        if self._failure is not None:
            raise self._failure

    def prepare(self, work: Callable[[], object]) -> None:
        """Let a process do something early while it waits for trials; nothing where there is none."""
        if self._pool is not None:
            with contextlib.suppress(BrokenProcessPool):  # told where it matters
                self._pool.submit(work)

    def compute(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """What some pieces of work return, done by the processes, or here where there are none. Each must be a function
        of a module or a ``partial`` of one. Raises what they raise, MmevalError when they kill their process."""
        if self._pool is None:
            return [work() for work in works]
        self._under_way += 1
        try:
            found = list(self._pool.map(_call, works))
        except BrokenProcessPool:  # it may have died before, of a trial or idle
            self._pool = self._new_pool(self._workers)
            found = self._once_more(works)
        self._under_way -= 1
        return found

    def _once_more(self, works: Sequence[Callable[[], T]]) -> list[T]:
        assert self._pool is not None
        try:
            return list(self._pool.map(_call, works))
        except BrokenProcessPool:
            raise MmevalError(
                "the scoring process died while it made the numbers (out of memory, or a library crashed). The scores "
                "are kept: the same command makes the numbers again; with --score_workers 0 in its own process"
            ) from None

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._pool is None:
            return
        # Nobody waits for a metric that is still at work when the run was stopped: it scores again next time.
        unfinished = list((self._pool._processes or {}).values()) if self._under_way else []
        for process in unfinished:
            process.terminate()
        # Waiting takes milliseconds; a pool that is still winding down when Python ends complains on stderr.
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _flush_idle(self) -> None:
        self._timer = None
        task = asyncio.get_running_loop().create_task(self._flush())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        batch, self._waiting, self._waiting_bytes = self._waiting, [], 0
        await self._room.acquire()
        task = asyncio.get_running_loop().create_task(self._score(batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _score(self, batch: list[tuple[int, bytes]]) -> None:
        self._under_way += 1
        try:
            rows, seconds = await self._rows(batch)
            self._under_way -= 1  # not where this is cancelled: then the process is still at work
            self._batch_size = max(1, min(LARGEST_BATCH, int(BATCH_SECONDS * len(batch) / max(seconds, 1e-6))))
            for position in {position for position, _ in batch}:
                mine = [row for (p, _), row in zip(batch, rows, strict=True) if p == position]
                self._deliver(position, b"".join(mine))
        except BaseException as error:
            self._failure = self._failure or error
            if not isinstance(error, Exception):
                raise
        finally:
            self._room.release()

    async def _rows(self, batch: list[tuple[int, bytes]]) -> tuple[list[bytes], float]:
        loop = asyncio.get_running_loop()
        pool = self._pool
        if pool is None:
            return await loop.run_in_executor(self._thread, self._local.score, batch)
        try:
            return await loop.run_in_executor(pool, _score_in_worker, batch)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = self._new_pool(self._workers)
            async with self._alone:
                return await self._rows_apart(batch)

    async def _rows_apart(self, batch: list[tuple[int, bytes]]) -> tuple[list[bytes], float]:
        """Score a batch whose process died in a process of its own, and in halves when that dies too: the one trial
        that kills even its own process is to blame and is unscored."""
        pool = self._new_pool(1)
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, _score_in_worker, batch)
        except BrokenProcessPool:
            if len(batch) == 1:
                return [self._blamed(batch[0])], 0.0
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
        middle = len(batch) // 2
        first, second = await self._rows_apart(batch[:middle]), await self._rows_apart(batch[middle:])
        return [*first[0], *second[0]], first[1] + second[1]

    def _blamed(self, item: tuple[int, bytes]) -> bytes:
        position, line = item
        plan, row = self._plans[position], from_line(line)
        reason = "the scoring process died on this answer (out of memory, out of time, or a library crashed)"
        outputs = [name for metric, _, _ in plan.metrics for name in load_metric(metric).outputs]
        scores = dict.fromkeys(outputs, Score.lost(reason))
        return score_row(row, trial_from(row, plan.media_root), plan, scores)
