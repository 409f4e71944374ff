"""Processes that this one starts: without the user's script; those that call
``end_with`` end when it ends.

A spawned process usually begins by importing the script that its parent runs. A script
that calls ``mmeval.evaluate`` without a ``__main__`` guard would evaluate once more in
each worker. Workers here import what they need by name.

A child knows its parent by the id that the parent has given it. One that the child
finds out by itself may be that of another process already: the parent may be killed
right after it has started the child.
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
_OURS = " [mmeval."
"""In the lines of our own log, which may stand in the same file."""
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl


class _Spawned(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802  multiprocessing's name for what starts a process
        # it is started with the first process, and would let signals through again
        resource_tracker.ensure_running()
        with _one_at_a_time:  # else two threads may give each other the empty one back
            script = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")
            try:
                with _signals_blocked():
                    return SpawnProcess._Popen(process_obj)
            finally:
                sys.modules["__main__"] = script


class _Forked(ForkProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Any:  # noqa: N802
        with _signals_blocked():
            return ForkProcess._Popen(process_obj)


class FreshContext(SpawnContext):
    """multiprocessing's context ``spawn``, without the user's script in its
    processes."""

    Process = _Spawned


class CopyContext(ForkContext):
    """multiprocessing's context ``fork``: its processes know all that this one
    knows."""

    Process = _Forked


_one_at_a_time = threading.Lock()


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Keep a signal from ending a process of the block before it has settled."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def settle_signals() -> None:
    """In a child: leave the terminal's signals to the parent, and be ended by SIGTERM.
    All of them were blocked until now."""
    for number in ENDING:
        is_end = number == signal.SIGTERM
        signal.signal(number, signal.SIG_DFL if is_end else signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def ending(code: int | None) -> str:
    """The end of a process in words."""
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
    """``; the last it wrote: ...``: the end of a program's log, which is an open file,
    from a place on. Lines of our own log in it do not count; empty where there is
    nothing."""
    begin = max(begin, os.fstat(log).st_size - _LAST_BYTES)
    lines = os.pread(log, _LAST_BYTES, begin).decode("utf-8", "replace").splitlines()
    last = [line.strip() for line in lines if line.strip() and _OURS not in line]
    if not last:
        return ""
    words = printable(" | ".join(last[-_LAST_LINES:]), limit=_LAST_CHARS)
    return f"; the last it wrote: {words}"


def parent_id() -> int:
    """In a child of multiprocessing: the process that has started it, which may be
    gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None and parent.pid is not None
    return parent.pid


def is_orphan(parent: int) -> bool:
    """Whether the process ``parent`` that has started this one is gone."""
    return os.getppid() != parent


def end_with(parent: int) -> None:
    """End this process when its parent is gone, at once where it is gone already. On
    Linux the kernel ends it, also in native code that keeps Python waiting, and already
    when the thread that has started it ends; elsewhere a thread looks each second."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if is_orphan(parent):  # before the kernel knew
            os._exit(1)
        return

    def watch() -> None:
        while not is_orphan(parent):
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
