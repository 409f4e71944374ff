"""Starts child processes without the user's script, and ends them with their parent.

A spawned process usually imports the script of its parent first. A script that calls
``mmeval.evaluate`` without a ``__main__`` guard would then evaluate again in each
worker. The workers here import what they need by name.

A child identifies its parent by the id that the parent passes to it. ``os.getppid`` may
return the id of another process, because the parent may be killed right after it
started the child.

Children that call ``end_with`` end when the parent ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import ForkContext, ForkProcess, SpawnContext, SpawnProcess
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

from mmeval.system.signals import ENDING
from mmeval.system.wording import printable

_LAST_BYTES, _LAST_LINES, _LAST_CHARS = 4096, 5, 600
_OWN_LOG = " [mmeval."
"""Marks lines of mmeval's log, which may be in the same file as other output."""
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl


class _SpawnedProcess(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802  the name in multiprocessing
        # if it started later, the tracker would unblock the signals again
        resource_tracker.ensure_running()
        with _one_at_a_time:  # else one thread may restore the empty module of another
            script = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                with _signals_blocked():
                    return SpawnProcess._Popen(process_obj)
            finally:
                sys.modules["__main__"] = script


class _ForkedProcess(ForkProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802
        with _signals_blocked():
            return ForkProcess._Popen(process_obj)


class FreshContext(SpawnContext):
    """multiprocessing's ``spawn`` context without the user's script."""

    Process = _SpawnedProcess


class CopyContext(ForkContext):
    """multiprocessing's ``fork`` context. Its processes copy the state of this
    process."""

    Process = _ForkedProcess


_one_at_a_time = threading.Lock()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals until a process started in the block has set its handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def settle_signals() -> None:
    """Make a child process ignore the terminal's signals and end on SIGTERM.

    The child calls this function. Before the call, all these signals are blocked.
    """
    for number in ENDING:
        is_end = number == signal.SIGTERM
        signal.signal(number, signal.SIG_DFL if is_end else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def ending(code: int | None) -> str:
    """Describes how a process ended."""
    if code is None:
        return "was lost"
    if code >= 0:
        return f"ended by itself with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = " (often because memory ran out)" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


def last_lines(log: int, begin: int = 0) -> str:
    """Returns ``; the last it wrote: ...``: the end of a program's log, from ``begin``.

    ``log`` is an open file. Lines of mmeval's log are left out. The result is empty if
    the program wrote no lines.
    """
    begin = max(begin, os.fstat(log).st_size - _LAST_BYTES)
    lines = os.pread(log, _LAST_BYTES, begin).decode("utf-8", "replace").splitlines()
    last = [line.strip() for line in lines if line.strip() and _OWN_LOG not in line]
    if not last:
        return ""
    words = printable(" | ".join(last[-_LAST_LINES:]), limit=_LAST_CHARS)
    return f"; the last it wrote: {words}"


def parent_id() -> int:
    """Returns the id of the parent of a multiprocessing child. The parent may have
    ended."""
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid is not None
    return parent.pid


def is_orphan(parent: int) -> bool:
    """Returns True if ``parent``, which started this process, has ended."""
    return os.getppid() != parent


def end_with(parent: int) -> None:
    """End this process when its parent ends, or immediately if it already has ended.

    On Linux the kernel ends it, even in native code that blocks Python. The kernel also
    ends it when the thread that started this process ends. On other systems a thread
    checks every second.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if is_orphan(parent):  # the parent ended before prctl
            os._exit(1)
        return

    def watch() -> None:
        while not is_orphan(parent):
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
