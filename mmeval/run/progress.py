"""The progress that a run reports, and the first line that it prints."""

from __future__ import annotations

from typing import Protocol


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
    def waiting(self, awaited: str) -> None: ...
    def loading(self, model: str, seconds: float | None) -> None: ...
    def note(self, text: str) -> None: ...
    def close(self) -> None: ...


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


def left_to_judge(count: int) -> str:
    """The line of a run whose model is done before its judge."""
    said = "1 answer is" if count == 1 else f"{count:,} answers are"
    return f"the model is done; {said} still to be judged"


def _answers(count: int) -> str:
    return f"{count} answer" if count == 1 else f"{count} answers"
