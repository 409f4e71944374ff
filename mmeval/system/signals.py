"""Handles the signals that end a command: Ctrl-C, SIGTERM, and the end of the
terminal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def handled_by(handler: Callable[[int, FrameType | None], None]) -> ExitStack:
    """Handle the ending signals with ``handler``.

    The end of the ``with`` block restores the previous handlers. A SIGHUP that is
    ignored, as under ``nohup``, remains ignored. Outside the main thread nothing
    changes, because only the main thread receives signals.
    """
    restore = ExitStack()
    for number in (
        ENDING if threading.current_thread() is threading.main_thread() else ()
    ):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            restore.callback(signal.signal, number, signal.signal(number, handler))
    return restore


def ignore() -> None:
    """Ignore the ending signals."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


def is_alive(process: int) -> bool:
    """Returns True if this host has a process with this id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    return True
