"""Batch sizes: what a user asks for, and what a backend makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmeval.backend.contract import BatchBackend


class BatchSize(NamedTuple):
    """The largest batch of a local model. ``rows`` is 0 where the backend decides (``auto``); ``growths`` says how
    often a batch that has run out of memory is tried again later on (``auto:3``), when shorter rows may have come."""

    rows: int = 0
    growths: int = 0

    def __str__(self) -> str:
        if self.rows:
            return str(self.rows)
        return f"auto:{self.growths}" if self.growths else "auto"

    def rows_for(self, backend: BatchBackend) -> int:
        """The largest batch of a backend: what was asked for, else what is usual for it; never more than it takes."""
        usual: int = getattr(backend, "usual_batch_size", backend.max_batch_size)
        return max(1, min(backend.max_batch_size, self.rows or usual))


AUTO = BatchSize()
