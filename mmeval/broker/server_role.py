"""The role of a remote server, with its connections and its batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmeval.backend.contract import AnyBackend, Batchable, ModelBackend, Startable
from mmeval.broker.limiter import NO_LIMIT, Limiter
from mmeval.broker.observer import RoleObserver
from mmeval.broker.server_batcher import ServerBatcher
from mmeval.system.threads import OwnThread


@dataclass(frozen=True, eq=False)
class ServerRole:
    """A server, or another backend that receives single calls, with its limiter.

    Agents and backends that answer from the sample have this role too.
    """

    backend: AnyBackend
    limiter: Limiter
    """Limits the calls in flight. It has no limit if there is a batcher."""
    batcher: ServerBatcher | None
    """Collects the calls into batches of the server. It is None if no batches are
    used."""

    @property
    def width(self) -> int:
        """Number of calls that are needed to keep the server busy.

        It equals the number of connections, or the number of rows of a batch.
        """
        return self.limiter.limit if self.batcher is None else self.batcher.width

    @property
    def in_flight(self) -> int:
        """Number of calls that are sent and not answered yet."""
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
    """Creates the role of a server.

    ``notes`` is the folder in which batches are recorded. Without it, no batches are
    used. ``live`` returns the number of trials in progress.
    """
    batches = backend.batches if isinstance(backend, Batchable) else None
    if batches is None or notes is None or not isinstance(backend, ModelBackend):
        return ServerRole(backend, Limiter(limit), None)

    def wait_for(awaited: str) -> None:
        observer.waiting(awaited)  # read at each call, since a run sets it later

    batcher = ServerBatcher(
        batches,
        backend.generate,
        notes,
        live,
        limit=limit,
        report=wait_for,
    )
    return ServerRole(backend, Limiter(NO_LIMIT), batcher)
