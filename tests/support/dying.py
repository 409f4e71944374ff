"""Run mmeval in a process that kills itself at a named point: ``python -m tests.support.dying POINT COUNT ARGS...``.

| point     | the process dies                                                                 |
|-----------|----------------------------------------------------------------------------------|
| `receipt` | after an answer's receipt is written, before its media are stored                |
| `media`   | after the media are stored, before the journal line                              |
| `line`    | after the journal line, before the program goes on (the middle of an episode)    |
| `adopt`   | after a worker's answer is noted, before anybody has looked at it                |
| `records` | after a trial is recorded, before it is scored                                   |
| `scores`  | after score rows are written, when the answer that was under way is kept         |
| `results` | before the results of a task are made                                            |
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mmeval.__main__ import main
from mmeval.scoring.score_set import ScoreSet
from mmeval.store.journal import Journal
from mmeval.store.segment import Segment
from mmeval.store.task_records import TaskRecords

POINTS: dict[str, tuple[Any, str]] = {
    "receipt": (Segment, "_write_receipt"),
    "media": (Segment, "_store_media"),
    "line": (Segment, "write_line"),
    "adopt": (Journal, "adopt"),
    "records": (TaskRecords, "keep_trial"),
    "scores": (ScoreSet, "add"),
    "results": (ScoreSet, "finish"),
}
NOT_BEFORE: dict[str, tuple[Any, str]] = {"scores": (Segment, "write_line")}
"""Rows come at any time, when an answer may be in the socket: it has reached nobody, and nobody could keep it."""


def die_at(point: str, count: int) -> None:
    """Be killed at a point, when it is reached for the ``count``-th time."""
    then = NOT_BEFORE.get(point)
    after(*POINTS[point], count, die if then is None else lambda: after(*then, 1, die))


def die() -> None:
    """As the kernel kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def after(owner: Any, name: str, count: int, then: Callable[[], None]) -> None:
    """Let a function return ``count`` times, and do something whenever it does from then on."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dying(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        result = original(*args, **kwargs)
        calls += 1
        if calls >= count:
            then()
        return result

    setattr(owner, name, dying)


if __name__ == "__main__":
    point, count, *arguments = sys.argv[1:]
    die_at(point, int(count))
    sys.exit(main(arguments))
