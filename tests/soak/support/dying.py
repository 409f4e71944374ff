"""Run mmeval in a process that kills itself at a named point: ``python -m
tests.soak.support.dying POINT COUNT ARGS...``."""

import sys
from typing import Any

from mmeval.__main__ import main
from mmeval.metric.scoring.score_set import ScoreSet
from mmeval.store.journal import Journal
from mmeval.store.segment import Segment
from mmeval.store.task_records import TaskRecords
from tests.support.parallel import after, die

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


if __name__ == "__main__":
    die_at(sys.argv[1], int(sys.argv[2]))
    sys.exit(main(sys.argv[3:]))
