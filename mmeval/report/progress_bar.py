"""Shows a run's progress: one line that is redrawn on a terminal, or else a line every
minute."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

from mmeval.report.terminal import write_line
from mmeval.run.costs.bill import dollars
from mmeval.run.progress import Progress

SECONDS_BETWEEN_LINES = 60.0
"""Seconds between two lines of progress without a terminal."""
_COUNTS = " {n:,}/{total:,}  {rate_noinv_fmt}  {remaining} left{postfix}"
"""What follows ``answered`` or ``judged``, in tqdm's fields."""

_log = logging.getLogger(__name__)


class QuietProgress:
    """Progress without a bar; notes are lines on stderr."""

    def start(self, total: int, kept: int) -> None:
        pass

    def advance(self, *, ok: bool) -> None:
        pass

    def judging(self, total: int) -> None:
        pass

    def judged(self) -> None:
        pass

    def costs(self, dollars: Callable[[], float | None]) -> None:
        pass

    def waiting(self, awaited: str) -> None:
        pass

    def loading(self, model: str, seconds: float | None) -> None:
        if model:
            self.note(loading_line(model, seconds))

    def note(self, text: str) -> None:
        write_line(text)

    def tick(self) -> None:
        pass

    def close(self) -> None:
        pass


class LoggedProgress(QuietProgress):
    """Progress without a bar; notes are written to the log."""

    def note(self, text: str) -> None:
        _log.info(text)


class _CountedProgress(QuietProgress):
    """Counts what is shown after the time left."""

    def __init__(self) -> None:
        self._dollars: Callable[[], float | None] = lambda: None
        self._judging = False
        self._judged = self._failed = 0
        self._awaited = ""
        self._loading = ""

    def costs(self, dollars: Callable[[], float | None]) -> None:
        self._dollars = dollars

    def _further_counts(self) -> str:
        words = []
        if self._judged:
            words.append(f"judged {self._judged:,}")
        if self._failed:
            words.append(f"failed {self._failed:,}")
        spent = self._dollars()
        if spent:
            words.append(dollars(spent))
        if self._awaited:
            words.append(f"waiting for {self._awaited}")
        if self._loading:
            words.append(f"loading {self._loading}")
        return ", ".join(words)


class ProgressLines(_CountedProgress):
    """Progress without a terminal: one line on stderr every ``interval`` seconds.

    A run that is shorter has no line. A longer run ends with a line of its totals.
    ``name`` precedes each line, if several runs write lines.
    """

    def __init__(
        self,
        interval: float,
        clock: Callable[[], float] = time.monotonic,
        *,
        name: str = "",
    ) -> None:
        super().__init__()
        self._before = f"{name}: " if name else ""
        self._interval = interval
        self._clock = clock
        self._began = self._last_line = self._clock()
        self._total = self._kept = self._done = 0
        self._is_running = self._has_line = False

    def start(self, total: int, kept: int) -> None:
        self._begin(total, kept)

    def judging(self, total: int) -> None:
        self._end()  # the totals of the answers
        self._judging = True
        self._begin(total, 0)

    def advance(self, *, ok: bool) -> None:
        self._failed += not ok
        self._done += not self._judging
        self.tick()

    def judged(self) -> None:
        self._done += self._judging
        self._judged += not self._judging
        self.tick()

    def waiting(self, awaited: str) -> None:
        self._awaited = awaited

    def note(self, text: str) -> None:
        write_line(f"{self._before}{text}")

    def tick(self) -> None:
        if self._is_running and self._clock() - self._last_line >= self._interval:
            self._write()

    def close(self) -> None:
        self._end()

    def _begin(self, total: int, kept: int) -> None:
        self._judged = self._failed = self._done = 0
        self._total, self._kept = total, kept
        self._began = self._clock()
        self._is_running = True

    def _end(self) -> None:
        if self._is_running and self._has_line:
            self._write()
        self._is_running = False

    def _write(self) -> None:
        from tqdm import tqdm

        now = self._clock()
        n = self._kept + self._done
        line = tqdm.format_meter(
            n,
            max(self._total, n),
            now - self._began,
            initial=self._kept,
            unit="",
            bar_format=("judged" if self._judging else "answered") + _COUNTS,
            postfix=self._further_counts(),
        )
        write_line(f"{self._before}{line}")
        self._last_line = now
        self._has_line = True


class ProgressBar(_CountedProgress):
    """One line of tqdm on stderr: answers, rate, time left and further counts.
    ``answered 20,118/34,774  41/s  05:58 left, judged 19,870, failed 2, 96.10 USD``"""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Any = None  # tqdm is imported when the bar is shown

    def start(self, total: int, kept: int) -> None:
        self._judged = self._failed = 0
        self._show("answered", total, kept)

    def advance(self, *, ok: bool) -> None:
        if self._bar is None:
            return
        self._failed += not ok
        self._advance(also=not ok)

    def judging(self, total: int) -> None:
        self._judged = self._failed = 0
        self._show("judged", total, 0)
        self._judging = True

    def judged(self) -> None:
        if self._judging and self._bar is not None:
            self._advance()
        self._judged += not self._judging

    def waiting(self, awaited: str) -> None:
        self._awaited = awaited
        self._say(refresh=True)

    def loading(self, model: str, seconds: float | None) -> None:
        self._loading = model if seconds is None else ""
        if seconds is not None:
            self.note(loading_line(model, seconds))
        self._say(refresh=True)

    def _show(
        self,
        what: str,
        total: int,
        kept: int,
    ) -> None:
        from tqdm import tqdm

        self.close()
        # no thread of tqdm: the bar is redrawn whenever an answer arrives
        tqdm.monitor_interval = 0
        options: dict[str, Any] = {
            "unit": "",
            "file": sys.stderr,
            "dynamic_ncols": True,
            "smoothing": 0.05,
        }
        self._bar = tqdm(
            total=total, initial=kept, bar_format=what + _COUNTS, **options
        )
        if self._awaited or self._loading:
            self._say(refresh=True)

    def _advance(self, *, also: bool = False) -> None:
        """Count one more answer. The counts after the bar are updated when the bar is
        redrawn. With ``also``, they are updated immediately."""
        if self._bar.update(1) or also:
            self._say(refresh=False)

    def _say(self, *, refresh: bool) -> None:
        """Update the counts after the time left."""
        if self._bar is not None:
            self._bar.set_postfix_str(self._further_counts(), refresh=refresh)

    def close(self) -> None:
        if self._bar is not None:
            self._say(refresh=True)
            self._bar.close()
            self._bar, self._judging = None, False


def for_stderr() -> Progress:
    """Returns a bar if stderr is a terminal, or else progress in lines."""
    if sys.stderr.isatty():
        return ProgressBar()
    return ProgressLines(SECONDS_BETWEEN_LINES)


def loading_line(model: str, seconds: float | None) -> str:
    """Returns a note on a model that is loading, or with ``seconds`` on a model that
    was loaded."""
    if seconds is None:
        return f"loading {model}"
    decimals = 0 if seconds >= 10 else 1
    return f"loaded {model} in {seconds:.{decimals}f} s"
