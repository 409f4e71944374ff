"""Signals that end a command: Ctrl-C, SIGTERM, and the end of its terminal."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle the ending signals by ``handler`` for a block of the main thread.
    SIGHUP that is ignored, as under ``nohup``, stays so. The handlers of before come back, whatever they raise."""
    with ExitStack() as before:
        for number in ENDING:
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                before.callback(signal.signal, number, signal.signal(number, handler))
        yield
