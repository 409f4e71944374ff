"""An executor whose processes are actors of a Ray cluster, for scoring."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import Any, ParamSpec, TypeVar

from mmeval.broker.cluster.node import RunContext, enter
from mmeval.broker.cluster.ray_cluster import (
    ROOM_SECONDS,
    WATCH_SECONDS,
    RayCluster,
    short_message,
)
from mmeval.metric.scoring.worker import ScoringSetup, settle
from mmeval.system.processes import settle_signals

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


class ScoringActor:
    """The actor of Ray that does the work of a scoring process."""

    def __init__(self, setup: ScoringSetup, shared: RunContext) -> None:
        enter(shared)
        settle_signals()
        settle(setup)

    def do(self, work: Callable[[], T]) -> T:
        return work()


class RayExecutor(ThreadPoolExecutor):
    """An executor that calls functions in ``count`` actors.

    For each actor, a thread waits for the results of its calls.

    If an actor dies, its call raises BrokenProcessPool, and a new actor replaces it.
    """

    def __init__(
        self,
        cluster: RayCluster,
        setup: ScoringSetup,
        count: int,
    ) -> None:
        super().__init__(count, thread_name_prefix="mmeval-ray-score")
        self._cluster, self._setup = cluster, setup
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._actors: set[Any] = set()
        for _ in range(count):
            self._free.put(None)

    def submit(
        self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Future[T]:
        return super().submit(self._call, partial(work, *args, **kwargs))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        # Shut down before killing, so that no further actor is started.
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        # Actors are killed without waiting for running calls.
        for actor in list(self._actors):
            self._cluster.kill(actor)
        super().shutdown(wait)

    def _call(self, work: Callable[[], T]) -> T:
        ray = self._cluster.connect()
        actor = self._free.get()
        try:
            actor = actor or self._started(ray)
            answer = actor.do.remote(work)
            while not ray.wait([answer], timeout=WATCH_SECONDS)[0]:
                # Without a head, Ray does not report that an actor died.
                self._cluster.reach_head()
            result: T = ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except ray.exceptions.RayError as error:
            self._cluster.kill(actor)
            self._actors.discard(actor)
            actor = None
            raise BrokenProcessPool(short_message(error)) from None
        finally:
            self._free.put(actor)
        return result

    def _started(self, ray: Any) -> Any:
        actor_class = self._cluster.actor_class(ScoringActor).options(
            **self._cluster.options(1)
        )
        actor = actor_class.remote(self._setup, self._cluster.shared)
        self._actors.add(actor)
        if not ray.wait([actor.__ray_ready__.remote()], timeout=ROOM_SECONDS)[0]:
            log.warning(
                "a scoring process is waiting for a free CPU in the Ray cluster; use "
                "fewer workers, or score_workers=0"
            )
        return actor
