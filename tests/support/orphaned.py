"""A process that kills its parent, and goes on once it is an orphan."""

import os
import re
import signal
import time
from pathlib import Path


def orphaned() -> None:
    parent = os.getppid()
    _kill(parent)
    while os.getppid() == parent:
        time.sleep(0.001)


def busy_orphan() -> None:
    """At work in native code that lets no other thread run."""
    _kill(os.getppid())
    re.fullmatch("(a+)+", "a" * 60 + "b")


def _kill(parent: int) -> None:
    with Path("orphans").open("a") as file:
        file.write(f"{os.getpid()}\n")
    os.kill(parent, signal.SIGKILL)


class Orphaned:
    """Does it where it is unpickled, which is before the first line of what a process was started for."""

    def __reduce__(self) -> tuple[object, ...]:
        return orphaned, ()
