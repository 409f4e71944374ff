"""Shows a run's progress: one line that is redrawn on a terminal, or else only
notes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

from mmeval.report.terminal import write_line
from mmeval.run.costs.bill import dollars
from mmeval.run.progress import Progress

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

    def close(self) -> None:
        pass


class LoggedProgress(QuietProgress):
    """Progress without a bar; notes are written to the log."""

    def note(self, text: str) -> None:
        _log.info(text)


class ProgressBar(QuietProgress):
    """One line of tqdm on stderr: answers, rate, time left and further counts.
    ``answered 20,118/34,774  41/s  05:58 left, judged 19,870, failed 2, 96.10 USD``"""

    def __init__(self) -> None:
        self._bar: Any = None  # tqdm is imported when the bar is shown
        self._dollars: Callable[[], float | None] = lambda: None
        self._judging = False
        self._judged = self._failed = 0
        self._awaited = ""
        self._loading = ""

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

    def costs(self, dollars: Callable[[], float | None]) -> None:
        self._dollars = dollars

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
        form = what + " {n:,}/{total:,}  {rate_noinv_fmt}  {remaining} left{postfix}"
        options: dict[str, Any] = {
            "unit": "",
            "file": sys.stderr,
            "dynamic_ncols": True,
            "smoothing": 0.05,
        }
        self._bar = tqdm(total=total, initial=kept, bar_format=form, **options)
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
            self._bar.set_postfix_str(", ".join(words), refresh=refresh)

    def close(self) -> None:
        if self._bar is not None:
            self._say(refresh=True)
            self._bar.close()
            self._bar, self._judging = None, False


def for_stderr() -> Progress:
    """Returns a bar if stderr is a terminal, or else progress without a bar."""
    return ProgressBar() if sys.stderr.isatty() else QuietProgress()


def loading_line(model: str, seconds: float | None) -> str:
    """Returns a note on a model that is loading, or with ``seconds`` on a model that
    was loaded."""
    if seconds is None:
        return f"loading {model}"
    decimals = 0 if seconds >= 10 else 1
    return f"loaded {model} in {seconds:.{decimals}f} s"
