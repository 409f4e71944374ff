"""A role that a local model plays: its calls are answered in batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mmeval.backend.batch_size import BatchSize
from mmeval.backend.contract import BatchBackend
from mmeval.broker.batch_answer import ThisProcess
from mmeval.broker.batcher import Answerer, Batcher
from mmeval.broker.limiter import NO_LIMIT, Limiter
from mmeval.broker.observer import RoleObserver


@dataclass(frozen=True, eq=False)
class LocalRole:
    """What is needed to ask a local model."""

    limiter: Limiter
    """Without a limit of its own, since batches are one: calls wait in the batcher,
    where they can be put together."""
    batcher: Batcher

    @property
    def width(self) -> int:
        """How many calls keep it busy: some batches of them."""
        return self.batcher.width

    @property
    def in_flight(self) -> int:
        """Calls that are in a batch and not yet answered."""
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
    """Without an ``answerer``, a thread of this process answers. ``live`` counts
    trials."""

    def has_room() -> None:
        observer.room()  # which a run sets later

    rows = batch_size.rows_for(backend)
    batcher = Batcher(
        answerer or ThisProcess(backend), live, rows, growths=batch_size.growths
    )
    batcher.on_room = has_room
    return LocalRole(Limiter(NO_LIMIT), batcher)
