"""The batch size of a local model: ``--batch_size``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mmeval.backend.contract import BatchBackend


class BatchSize(NamedTuple):
    """The maximum batch size of a local model.

    ``rows`` is the number of rows, or 0 for the backend's default. ``growths`` is how
    often the size may be raised again after memory ran out (3 for ``auto:3``). Raising
    it can succeed because later rows may be shorter.
    """

    rows: int = 0
    growths: int = 0

    def __str__(self) -> str:
        if self.rows:
            return str(self.rows)
        return f"auto:{self.growths}" if self.growths else "auto"

    def rows_for(self, backend: BatchBackend) -> int:
        """Returns the number of rows per batch, at most the backend's maximum."""
        usual: int = getattr(backend, "usual_batch_size", backend.max_batch_size)
        return max(1, min(backend.max_batch_size, self.rows or usual))


AUTO = BatchSize()
