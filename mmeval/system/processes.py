"""Spawning: fresh worker processes that do not run the user's script again.

A spawned process usually begins by importing the script that its parent runs. A script that calls ``mmeval.evaluate``
without a ``__main__`` guard would evaluate once more in each worker. What the workers here need is imported by name.
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
    """multiprocessing's context ``spawn``, whose processes know nothing of the script."""

    Process = _Process


_one_at_a_time = threading.Lock()


@contextmanager
def _no_script() -> Iterator[None]:
    """An empty main module, which is what a process that is started in the block takes for its parent's."""
    with _one_at_a_time:  # else two threads may give each other the empty one back
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = script
