"""Batch sizes of local models, as users ask for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmeval.backend.contract import BatchBackend


class BatchSize(NamedTuple):
    """The largest batch of a local model; ``rows`` is 0 where the backend decides.
    ``growths``: how often a batch that ran out of memory is tried again later
    (``auto:3``): rows may be shorter."""

    rows: int = 0
    growths: int = 0

    def __str__(self) -> str:
        if self.rows:
            return str(self.rows)
        return f"auto:{self.growths}" if self.growths else "auto"

    def rows_for(self, backend: BatchBackend) -> int:
        """The largest batch: the user's, else the usual one; never more than it
        takes."""
        usual: int = getattr(backend, "usual_batch_size", backend.max_batch_size)
        return max(1, min(backend.max_batch_size, self.rows or usual))


AUTO = BatchSize()
