"""The lock of a run's worker processes. A run reads its journal after they end."""

from __future__ import annotations

import logging
from pathlib import Path

from mmeval.errors import RunLockedError
from mmeval.store.lock import LEASE_SECONDS, Lock, becomes_free

log = logging.getLogger(__name__)

WORKERS = "workers"
"""The folder of a run's worker processes: their logs and their lock."""
LOCK = "lock"
ORPHAN_SECONDS = 10
"""Seconds that a worker may take to finish its answers after its parent has ended."""
PATIENCE = LEASE_SECONDS + ORPHAN_SECONDS


def hold(run: Path) -> Lock:
    """Marks this process as a writer of the run until the lock is closed."""
    file = run / WORKERS / LOCK
    file.parent.mkdir(parents=True, exist_ok=True)
    return Lock(file, shared=True)


def wait_for_writers(run: Path, patience: float = PATIENCE) -> None:
    """Waits until the workers of a killed process end.

    Their last answers are then read with the others, so no request is repeated. Raises
    RunLockedError if a worker does not end.
    """
    file = run / WORKERS / LOCK
    if not file.exists() or becomes_free(file, patience=0):
        return
    log.info(
        "workers of an earlier process are still running; waiting for their last "
        "answers"
    )
    if not becomes_free(file, patience):
        raise RunLockedError(
            f"{run}: workers of an earlier process are still running. End them (their "
            f"process ids are in the logs in {file.parent}), then run the same command"
        )
