"""Whether processes are gone: one that has ended and is not waited for counts as
gone."""

import time
from pathlib import Path

from tests.support.cli import DEADLINE


def gone(pids: set[int], seconds: float = DEADLINE) -> bool:
    """Whether all of them are gone within some seconds."""
    until = time.monotonic() + seconds
    while left := {pid for pid in pids if not _has_ended(pid)}:
        if time.monotonic() > until:
            return False
        pids = left
        time.sleep(0.01)
    return True


def _has_ended(pid: int) -> bool:
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )
    except OSError:
        return True
