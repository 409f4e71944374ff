"""Spawns worker processes that do not run the user's script again.

A spawned process usually begins by importing the script that its parent runs. A script that calls ``mmeval.evaluate``
without a ``__main__`` guard would evaluate once more in each worker. Workers here import what they need by name.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802  multiprocessing's name for what starts a process
        with _no_script():
            return SpawnProcess._Popen(process_obj)


class FreshContext(SpawnContext):
    """multiprocessing's context ``spawn``, without the user's script in its processes."""

    Process = _Process


_one_at_a_time = threading.Lock()


@contextmanager
def _no_script() -> Iterator[None]:
    """Replace the main module by an empty one for a process started in the block."""
    with _one_at_a_time:  # else two threads may give each other the empty one back
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
