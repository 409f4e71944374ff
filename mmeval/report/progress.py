"""How far a run is: a bar with rate, time left and failures on a terminal, silence elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import Any, Protocol

from mmeval.report.terminal import write_line

_log = logging.getLogger(__name__)


class Progress(Protocol):
    """What a run tells while it goes on. ``total`` counts trials, ``kept`` those answered by an earlier process."""

    def start(self, total: int, kept: int) -> None: ...
    def advance(self, *, ok: bool) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


class Quiet:
    """No bar; notes are lines on stderr."""

    def start(self, total: int, kept: int) -> None:
        pass

    def advance(self, *, ok: bool) -> None:
        pass

    def note(self, text: str) -> None:
        write_line(text)

    def close(self) -> None:
        pass


class Logged:
    """No bar; notes go to the log."""

    def start(self, total: int, kept: int) -> None:
        pass

    def advance(self, *, ok: bool) -> None:
        pass

    def note(self, text: str) -> None:
        _log.info(text)

    def close(self) -> None:
        pass


class Bar:
    """A bar of tqdm on stderr."""

    def __init__(self) -> None:
        self._bar: Any = None  # tqdm is imported when the bar is shown
        self._failed = 0

    def start(self, total: int, kept: int) -> None:
        from tqdm import tqdm

        self.close()
        tqdm.monitor_interval = 0  # no thread of its own: the bar is redrawn whenever an answer comes
        self._failed = 0
        self._bar = tqdm(total=total, initial=kept, unit="answer", file=sys.stderr, dynamic_ncols=True, smoothing=0.05)

    def advance(self, *, ok: bool) -> None:
        if self._bar is None:
            return
        if not ok:
            self._failed += 1
            self._bar.set_postfix_str(f"{self._failed} failed", refresh=False)
        self._bar.update(1)

    def note(self, text: str) -> None:
        write_line(text)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def for_stderr() -> Progress:
    """A bar if stderr is a terminal."""
    return Bar() if sys.stderr.isatty() else Quiet()


def opening(*, kept: int, new: int, since: str, exact: bool = True) -> str:
    """The first line of a run: what is kept, from when, and what will be asked.

    ``exact`` is False when a filter has yet to say how many samples it keeps.
    """
    if not kept and not new:
        return "nothing to ask"
    if not kept:
        return f"asking {'' if exact else 'up to '}{_answers(new)}"
    when = f" from {since}" if since else ""
    if not new:
        return f"kept {_answers(kept)}{when}, nothing new to ask"
    return f"kept {_answers(kept)}{when}, asking {new} new"


def _answers(count: int) -> str:
    return f"{count} answer" if count == 1 else f"{count} answers"
