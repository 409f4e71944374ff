"""A run's progress: a bar (rate, time left, failures) on a terminal, else lines."""

from __future__ import annotations

import logging
import sys
from typing import Any

from mmeval.report.terminal import write_line
from mmeval.run.progress import Progress

_log = logging.getLogger(__name__)


class Quiet:
    """No bar; notes are lines on stderr."""

    def start(self, total: int, kept: int) -> None:
        pass

    def advance(self, *, ok: bool) -> None:
        pass

    def judging(self, total: int) -> None:
        pass

    def judged(self) -> None:
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


class Logged(Quiet):
    """No bar; notes go to the log."""

    def note(self, text: str) -> None:
        _log.info(text)


class ProgressBar(Quiet):
    """A bar of tqdm on stderr."""

    def __init__(self) -> None:
        self._bar: Any = None  # tqdm is imported when the bar is shown
        self._judging = False
        self._failed = 0
        self._awaited = ""
        self._loading = ""

    def start(self, total: int, kept: int) -> None:
        self._failed = 0
        self._show(total, kept)

    def advance(self, *, ok: bool) -> None:
        if self._bar is None:
            return
        if not ok:
            self._failed += 1
            self._say(refresh=False)
        self._bar.update(1)

    def judging(self, total: int) -> None:
        self._failed = 0
        self._show(total, 0, what="judged")
        self._judging = True

    def judged(self) -> None:
        if self._judging and self._bar is not None:
            self._bar.update(1)

    def waiting(self, awaited: str) -> None:
        self._awaited = awaited
        self._say(refresh=True)

    def loading(self, model: str, seconds: float | None) -> None:
        self._loading = model if seconds is None else ""
        if seconds is not None:
            self.note(loading_line(model, seconds))
        self._say(refresh=True)

    def _show(self, total: int, kept: int, what: str = "") -> None:
        from tqdm import tqdm

        self.close()
        tqdm.monitor_interval = 0  # no thread of its own: the bar is redrawn whenever an answer comes
        how: dict[str, Any] = {"unit": "answer", "file": sys.stderr, "dynamic_ncols": True, "smoothing": 0.05}
        self._bar = tqdm(total=total, initial=kept, desc=what or None, **how)
        if self._awaited or self._loading:
            self._say(refresh=True)

    def _say(self, *, refresh: bool) -> None:
        """What stands behind the bar."""
        if self._bar is not None:
            failed = [f"{self._failed} failed"] if self._failed else []
            awaited = [f"waiting for {self._awaited}"] if self._awaited else []
            loading = [f"loading {self._loading}"] if self._loading else []
            self._bar.set_postfix_str(", ".join(failed + awaited + loading), refresh=refresh)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar, self._judging = None, False


def for_stderr() -> Progress:
    """A bar if stderr is a terminal."""
    return ProgressBar() if sys.stderr.isatty() else Quiet()


def loading_line(model: str, seconds: float | None) -> str:
    """A note on a model that is being loaded, and with ``seconds`` on one that is."""
    if seconds is None:
        return f"loading {model}"
    return f"loaded {model} in {seconds:.0f} s" if seconds >= 10 else f"loaded {model} in {seconds:.1f} s"
