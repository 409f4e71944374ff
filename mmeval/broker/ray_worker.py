"""Workers that are actors of a Ray cluster.

A batch is one call to the actor, which returns all rows once they are written. A
message for each row would take more time than the row itself. If an actor dies, the
answers that it wrote before are still in its journal segment.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from mmeval.backend.contract import ModelDiedError, PlaceLostError
from mmeval.broker.batcher import BatchRow, Deliver
from mmeval.broker.cluster.node import OtherCodeError, RunContext, enter
from mmeval.broker.cluster.ray_cluster import (
    ROOM_SECONDS,
    WATCH_SECONDS,
    RayCluster,
    RayNode,
    short_message,
)
from mmeval.broker.worker_pool import WorkerPool
from mmeval.broker.worker_service import (
    AnswerRow,
    BatchDone,
    FromWorker,
    WorkerJob,
    WorkerService,
    WorkerStartError,
    received_message,
    settle,
)
from mmeval.errors import EXIT_USAGE, BackendDownError, MmevalError, UsageError
from mmeval.store.journal import Journal
from mmeval.store.writer_lock import ORPHAN_SECONDS
from mmeval.system.threads import OwnThread
from mmeval.system.wording import file_name

log = logging.getLogger(__name__)

END_SECONDS = 5.0
"""Seconds that an actor may take to release its resources at the end of a run."""


class WorkerActor:
    """The code of an actor. Each call returns the messages of the actor's worker."""

    def __init__(self, job: WorkerJob, shared: RunContext) -> None:
        self._job, self._shared = job, shared
        self._reported: list[FromWorker] = []

    def node(self) -> str:
        """Returns the id of the actor's node.

        This first call waits until Ray has placed the actor.
        """
        from ray import get_runtime_context

        return str(get_runtime_context().get_node_id())

    def open(self) -> list[FromWorker]:
        try:
            enter(self._shared)
        except (UsageError, OtherCodeError) as error:
            return [WorkerStartError(str(error), EXIT_USAGE)]
        settle(self._job)
        threading.Thread(
            target=self._end_with_run, name="mmeval-run", daemon=True
        ).start()
        self._service = WorkerService(self._job, self._reported.append)
        self._service.open()
        return self._take_messages()

    def answer(self, batch: bytes) -> bytes:
        """Answers a pickled batch with pickled messages."""
        # Ray sends bytes faster than objects
        self._service.answer(pickle.loads(batch))
        return pickle.dumps(self._take_messages())

    def end(self) -> None:
        """Releases the worker's resources and ends the process."""
        self._service.close()
        os._exit(0)

    def _end_with_run(self) -> None:
        """Ends the process a few seconds after the run has ended."""
        # if the head is gone, Ray does not end the process
        while self._shared.token.exists():
            time.sleep(WATCH_SECONDS)
        # after this time the kernel ends the process, even if the backend hangs
        signal.alarm(ORPHAN_SECONDS)
        time.sleep(ORPHAN_SECONDS)
        os._exit(0)

    def _take_messages(self) -> list[FromWorker]:
        """Removes and returns the messages that arrived since the last call."""
        reported, self._reported[:] = list(self._reported), []
        return reported


class RayWorker:
    """The run's handle of an actor, which answers one batch at a time."""

    def __init__(self, job: WorkerJob, cluster: RayCluster) -> None:
        self.job = job
        self.segment = Path()
        self.open_rows: Mapping[int, BatchRow] = {}
        self._cluster = cluster
        self._actor: Any = None
        self._node: RayNode | None = None
        self._is_loaded = False

    async def start(self) -> None:
        self.kill()  # the old actor may be alive without its model
        self._is_loaded, self.open_rows, self._node = False, {}, None
        cluster, engine = self._cluster, self._cluster.engine
        actor_class = cluster.actor_class(WorkerActor).options(
            **cluster.options(engine.cpus, engine.gpus)
        )
        self._actor = actor_class.remote(self.job, cluster.shared)
        try:
            # returns once Ray has placed the actor on a node
            timer = asyncio.get_running_loop().call_later(
                ROOM_SECONDS,
                log.warning,
                "%s waits for free resources in the Ray cluster",
                self.job.name,
            )
            try:
                node_id = await self._call(self._actor.node.remote())
            finally:
                timer.cancel()
            self._node = await asyncio.to_thread(cluster.node, node_id)
            node_name = self._node.name if self._node else "a node that is gone"

            segment = None
            for message in await self._call(self._actor.open.remote()):
                segment = received_message(message, self.job) or segment
        except PlaceLostError:
            raise
        except ModelDiedError as death:
            raise WorkerStartError(
                f"{death}. It died while its model was being loaded"
            ) from None
        except WorkerStartError as error:
            self.kill()
            reason = f"{self.job.name} on {node_name}: {error}"
            raise WorkerStartError(reason, error.exit_code) from None
        assert isinstance(segment, Path)
        self.segment, self._is_loaded = segment, True

    async def answer(
        self, batch: Sequence[BatchRow], reported: Callable[[AnswerRow], None]
    ) -> int:
        most = 0
        for message in await self._call(
            self._actor.answer.remote(pickle.dumps(batch)), pickle.loads
        ):
            received = received_message(message, self.job)
            if isinstance(received, AnswerRow):
                reported(received)
            elif isinstance(received, BatchDone):
                most = received.most
        return most

    async def end(self) -> None:
        if self._actor is not None and self._is_loaded and not self.open_rows:
            with contextlib.suppress(Exception):  # it may have ended already
                await asyncio.wait_for(self._actor.end.remote(), END_SECONDS)
        self.kill()

    def kill(self) -> None:
        if self._actor is not None:
            self._cluster.kill(self._actor)

    async def _call(
        self, answer: Awaitable[Any], read: Callable[[bytes], Any] = lambda raw: raw
    ) -> Any:
        """Returns the result of a call to the actor.

        Raises ModelDiedError, and PlaceLostError if the actor's node is gone.
        """
        try:
            return read(await answer)
        # Ray raises many kinds; an answer that cannot be read counts as a death too
        except Exception as error:
            self.kill()
            node = self._node
            if node is not None and await asyncio.to_thread(
                self._cluster.is_gone, node
            ):
                raise PlaceLostError(
                    f"{self.job.name}: its node {node.name} is gone"
                ) from None
            where = f" on {node.name}" if node else ""
            raise ModelDiedError(
                f"{self.job.name}{where} was lost ({short_message(error)}); its log is "
                f"{self.job.log}"
            ) from None


class RayPool(WorkerPool):
    """A pool of actors.

    The engine can set the number of actors. Otherwise, all actors that fit are started.
    ``share`` is the number of pools of this run that share the cluster.
    """

    def __init__(
        self,
        job: WorkerJob,
        role: str,
        cluster: RayCluster,
        journal: Journal,
        *,
        share: int,
    ) -> None:
        super().__init__([], journal)
        self._job, self._role, self._cluster, self._share = job, role, cluster, share
        self._thread = OwnThread("mmeval-ray")
        self._watching: asyncio.Task[None] | None = None
        self._is_over = threading.Event()
        self._at_work: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        await self._grow()
        self._watching = asyncio.get_running_loop().create_task(self._watch())
        await super().start()

    async def answer(self, batch: Sequence[BatchRow], deliver: Deliver) -> int:
        """Answers a batch in the same way as ``WorkerPool.answer``.

        Raises BackendDownError if the head is gone.
        """
        task = asyncio.current_task()
        assert task is not None
        self._at_work.add(task)
        try:
            return await super().answer(batch, deliver)
        except asyncio.CancelledError:
            if self._lost is None:
                raise
            task.uncancel()
            raise self._lost from None
        finally:
            self._at_work.discard(task)

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._is_over.set()
            # Ray would end this process if a thread used it during its shutdown
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._thread.do(lambda: None), END_SECONDS)
        await super().close()
        self._thread.end()

    async def _grow(self) -> None:
        engine = self._cluster.engine
        count = engine.workers or max(
            1, await self._thread.do(self._cluster.places) // self._share
        )
        for number in range(len(self._workers) + 1, count + 1):
            job = replace(
                self._job,
                name=f"worker {number} ({self._role})",
                log=self._job.log.with_name(f"{file_name(self._role)}-{number}.log"),
                threads=max(1, int(engine.cpus)),
            )
            self._workers.append(RayWorker(job, self._cluster))
            if self._watching is not None:
                self._begin(self._workers[-1])

    async def _watch(self) -> None:
        """Checks the cluster regularly, and uses new nodes, until the head is gone."""
        last_warning = ""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            try:
                await self._thread.do(partial(self._cluster.check_nodes, self._is_over))
                await self._grow()
            except BackendDownError as error:
                self._lose(error)
                # Without a head, Ray reports no deaths: running batches get a moment to
                # finish, and are cancelled.
                await asyncio.sleep(END_SECONDS)
                for task in (*self._at_work, *self._starts.values()):
                    task.cancel()
                return
            except MmevalError as error:  # about new nodes, or all nodes are gone
                if str(error) != last_warning:
                    log.warning("%s", error)
                last_warning = str(error)
            except Exception:
                # Ray raises many kinds; the next inspection finds a lost head
                log.debug("the cluster could not be inspected", exc_info=True)
