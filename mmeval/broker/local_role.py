"""The role of a local model, which answers its calls in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmeval.backend.batch_size import BatchSize
from mmeval.backend.contract import BatchBackend
from mmeval.broker.batch_answer import ThreadAnswerer
from mmeval.broker.batcher import Answerer, Batcher
from mmeval.broker.limiter import NO_LIMIT, Limiter
from mmeval.broker.observer import RoleObserver


@dataclass(frozen=True, eq=False)
class LocalRole:
    """A local model with its batcher."""

    limiter: Limiter
    """A limiter that does not limit anything, because calls wait in the batcher
    instead."""
    batcher: Batcher

    @property
    def width(self) -> int:
        """Number of calls that are needed to keep the model busy. They fill a few
        batches."""
        return self.batcher.width

    @property
    def in_flight(self) -> int:
        """Number of calls in running batches that are not answered yet."""
        return self.batcher.in_flight

    async def start(self) -> None:
        await self.batcher.start()


def local_role(
    backend: BatchBackend,
    live: Callable[[], int],
    batch_size: BatchSize,
    answerer: Answerer | None,
    observer: RoleObserver,
) -> LocalRole:
    """Creates the role of a local model.

    Without an ``answerer``, a thread of this process answers the batches. ``live``
    returns the number of trials in progress.
    """

    def has_room() -> None:
        observer.room()  # read at each call, since a run sets it later

    rows = batch_size.rows_for(backend)
    batcher = Batcher(
        answerer or ThreadAnswerer(backend), live, rows, growths=batch_size.growths
    )
    batcher.on_room = has_room
    return LocalRole(Limiter(NO_LIMIT), batcher)
