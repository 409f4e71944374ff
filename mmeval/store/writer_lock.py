"""The lock of a run's other writers: the journal is read when none is left over."""

from __future__ import annotations

import logging
from pathlib import Path

from mmeval.errors import RunLockedError
from mmeval.store.lock import LEASE_SECONDS, Lock, becomes_free

log = logging.getLogger(__name__)

WORKERS = "workers"
"""The folder of a run's worker processes: their logs, and their lock."""
LOCK = "lock"
ORPHAN_SECONDS = 10
"""So long a worker whose parent is gone may take to finish the answers at hand."""
PATIENCE = LEASE_SECONDS + ORPHAN_SECONDS


def hold(run: Path) -> Lock:
    """Mark this process as a writer of the run until the lock is closed, or it ends."""
    file = run / WORKERS / LOCK
    file.parent.mkdir(parents=True, exist_ok=True)
    return Lock(file, shared=True)


def wait_for_writers(run: Path, patience: float = PATIENCE) -> None:
    """Wait until the workers end that a killed process has left behind. What they still
    write is read with the rest, and not asked again. Raises RunLockedError where one
    does not end."""
    file = run / WORKERS / LOCK
    if not file.exists() or becomes_free(file, patience=0):
        return
    log.info(
        "an earlier process left workers behind; waiting for what they have at hand"
    )
    if not becomes_free(file, patience):
        raise RunLockedError(
            f"{run}: workers of an earlier process do not end; their logs in "
            f"{file.parent} name their process "
            "ids: end them, then run the same command"
        )
