"""A role that a remote server plays: so many connections, and batches if it has any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmeval.backend.contract import AnyBackend, Batched, ModelBackend, Startable
from mmeval.broker.limiter import NO_LIMIT, Limiter
from mmeval.broker.observer import RoleObserver
from mmeval.broker.server_batcher import ServerBatcher
from mmeval.system.threads import OwnThread


@dataclass(frozen=True, eq=False)
class ServerRole:
    """What is needed to ask a server. Agents and backends that answer from the sample
    are of this kind, too: they are asked one call at a time."""

    backend: AnyBackend
    limiter: Limiter
    """How many calls may be in flight; with batches, the batcher limits them."""
    batcher: ServerBatcher | None
    """Where the calls of the server's batches wait; None where it gets none."""

    @property
    def width(self) -> int:
        """How many calls keep it busy: one a connection, or those of a batch."""
        return self.limiter.limit if self.batcher is None else self.batcher.width

    @property
    def in_flight(self) -> int:
        """Calls sent and not yet answered."""
        if self.batcher is None:
            return self.limiter.in_flight
        return self.batcher.in_flight

    async def start(self) -> None:
        if isinstance(self.backend, Startable):
            await OwnThread("mmeval-start").do(self.backend.start)


def server_role(
    backend: AnyBackend,
    live: Callable[[], int],
    limit: int,
    notes: Path | None,
    observer: RoleObserver,
) -> ServerRole:
    """``notes`` is the folder for the batches of this server, by which they are found
    again; without it there are none. ``live`` counts trials."""
    batches = backend.batches if isinstance(backend, Batched) else None
    if batches is None or notes is None or not isinstance(backend, ModelBackend):
        return ServerRole(backend, Limiter(limit), None)

    def wait_for(awaited: str) -> None:
        observer.waiting(awaited)  # which a run sets later

    batcher = ServerBatcher(
        batches,
        backend.generate,
        notes,
        live,
        limit=limit,
        report=wait_for,
    )
    return ServerRole(backend, Limiter(NO_LIMIT), batcher)
