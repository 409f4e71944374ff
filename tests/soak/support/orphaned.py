"""A process that kills its parent, and goes on once it is an orphan."""

import contextlib
import os
import re
import signal
import time
from pathlib import Path


def orphaned() -> None:
    parent = _kill()
    while os.getppid() == parent:
        time.sleep(0.001)


def busy_orphan() -> None:
    """At work in native code that lets no other thread run."""
    _kill()
    re.fullmatch("(a+)+", "a" * 60 + "b")


def _kill() -> int:
    """Kill the process that the file ``parent`` names; one that is born when it is dead
    has another parent already."""
    parent = int(Path("parent").read_text())
    with Path("orphans").open("a") as file:
        file.write(f"{os.getpid()}\n")
    with contextlib.suppress(ProcessLookupError):
        os.kill(parent, signal.SIGKILL)
    return parent


class Orphaned:
    """Does it where it is unpickled, which is before the first line of what a process
    was started for."""

    def __reduce__(self) -> tuple[object, ...]:
        return orphaned, ()
