"""Run mmeval in a process that kills itself at a named point: ``python -m
tests.support.dying POINT COUNT ARGS...``."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from mmeval.__main__ import main
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.store.journal import Journal
from mmeval.store.segment import Segment
from mmeval.store.task_records import TaskRecords

POINTS: dict[str, tuple[Any, str]] = {
    "receipt": (Segment, "_write_receipt"),  # before the media of an answer are stored
    "media": (Segment, "_store_media"),  # before its journal line
    # before the program goes on (the middle of an episode)
    "line": (Segment, "write_line"),
    "adopt": (Journal, "adopt"),  # a worker's answer is noted, and not checked yet
    "records": (TaskRecords, "keep_trial"),  # before the trial is scored
    "scores": (ScoreSet, "add"),  # once the answer that was under way is kept, too
    "results": (ScoreSet, "finish"),  # before the results of a task are made
}
NOT_BEFORE: dict[str, tuple[Any, str]] = {"scores": (Segment, "write_line")}
"""Rows come at any time, when an answer may be in the socket, where it would be
lost."""


def die_at(point: str, count: int) -> None:
    """Be killed after a point, when it is reached for the ``count``-th time."""
    then = NOT_BEFORE.get(point)
    after(*POINTS[point], count, die if then is None else lambda: after(*then, 1, die))


def die() -> None:
    """As the kernel kills."""
    os.kill(os.getpid(), signal.SIGKILL)


def after(owner: Any, name: str, count: int, then: Callable[[], None]) -> None:
    """Let a function return ``count`` times, and do something whenever it does from
    then on."""
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
    die_at(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
