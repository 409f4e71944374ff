"""How far a run is: a bar with rate, time left and failures on a terminal, a few lines elsewhere."""

from __future__ import annotations

import logging
import sys
from typing import Any, Protocol

from mmeval.report.terminal import write_line

_log = logging.getLogger(__name__)


class Progress(Protocol):
    """What a run tells while it goes on. ``total`` counts trials, ``kept`` those answered by an earlier process.

    ``judging`` begins where nothing is left but to judge a number of trials; ``judged`` is told of each, also before.
    ``waiting`` names whom every call waits for, nobody when it is over. ``loading`` names the model that is loaded;
    the seconds that it took when it is, and no model when it cannot be.
    """

    def start(self, total: int, kept: int) -> None: ...
    def advance(self, *, ok: bool) -> None: ...
    def judging(self, total: int) -> None: ...
    def judged(self) -> None: ...
    def waiting(self, whom: str) -> None: ...
    def loading(self, model: str, seconds: float | None) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


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

    def waiting(self, whom: str) -> None:
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


class Bar:
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

    def waiting(self, whom: str) -> None:
        self._awaited = whom
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

    def note(self, text: str) -> None:
        write_line(text)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar, self._judging = None, False


def for_stderr() -> Progress:
    """A bar if stderr is a terminal."""
    return Bar() if sys.stderr.isatty() else Quiet()


def opening(*, kept: int, new: int, since: str, exact: bool = True, bad: bool = False) -> str:
    """The first line of a run: what is kept, from when, and what will be asked.

    ``exact`` is False when a filter has yet to say how many samples it keeps, ``bad`` says that some of them are known
    as such that cannot be asked.
    """
    if not kept and not new:
        return "nothing to ask"
    if not kept:
        filtered = ": a task filters its rows, and asks those that it keeps"
        if exact:
            return f"asking up to {_answers(new)}: some samples cannot be asked" if bad else f"asking {_answers(new)}"
        return f"asking up to {_answers(new)}{filtered}"
    when = f" from {since}" if since else ""
    if not new:
        return f"kept {_answers(kept)}{when}, nothing new to ask"
    return f"kept {_answers(kept)}{when}, asking {new} new"


def loading_line(model: str, seconds: float | None) -> str:
    """What is said of a model that is being loaded, and (with the seconds that it took) of one that is."""
    if seconds is None:
        return f"loading {model}"
    return f"loaded {model} in {seconds:.0f} s" if seconds >= 10 else f"loaded {model} in {seconds:.1f} s"


def left_to_judge(count: int) -> str:
    """The line of a run whose model is done before its judge."""
    said = "1 answer is" if count == 1 else f"{count:,} answers are"
    return f"the model is done; {said} still to be judged"


def _answers(count: int) -> str:
    return f"{count} answer" if count == 1 else f"{count} answers"
