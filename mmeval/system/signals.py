"""Signals that end a command: Ctrl-C, SIGTERM, and the end of its terminal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def handled_by(handler: Callable[[int, FrameType | None], None]) -> ExitStack:
    """Handle the ending signals by ``handler``; the end of a ``with`` block puts back
    each handler of before. SIGHUP that is ignored, as under ``nohup``, stays so. Only
    the main thread can: others get no signals."""
    before = ExitStack()
    for number in (
        ENDING if threading.current_thread() is threading.main_thread() else ()
    ):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            before.callback(signal.signal, number, signal.signal(number, handler))
    return before


def ignore() -> None:
    """Let no ending signal change how this process ends."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def is_alive(process: int) -> bool:
    """Whether this host has a process with an id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True
