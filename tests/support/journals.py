"""Journals and brokers over a folder; the same folder again continues."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from mmeval.backend.contract import AnyBackend
from mmeval.broker.broker import Broker
from mmeval.broker.runtime import BackendRuntime
from mmeval.store.journal import Journal
from mmeval.store.media_store import MediaStore


@contextmanager
def opened(folder: Path, *, writable: bool = True) -> Iterator[Journal]:
    journal = Journal(
        folder / "journal", MediaStore(folder / "media"), writable=writable
    )
    try:
        yield journal
    finally:
        journal.close()


@asynccontextmanager
async def brokered(
    folder: Path,
    *,
    limit: int = 8,
    retries: int = 0,
    seed: int = 0,
    nonce: str = "",
    **roles: AnyBackend,
) -> AsyncIterator[Broker]:
    with opened(folder) as journal:
        broker = Broker(
            journal, seed=seed, nonce=nonce, reasoning_tags=("<think>", "</think>")
        )
        broker.roles = {
            name: BackendRuntime(
                backend, limit=limit, retries=retries, live=lambda: broker.live_trials
            )
            for name, backend in roles.items()
        }
        try:
            yield broker
        finally:
            await broker.close()
