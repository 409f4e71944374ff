"""What of some tasks cannot be scored here, told once for all that lack the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mmeval.pieces import lacks_a_piece
from mmeval.task import Task

_WAY = re.compile(r"(?<=; run: mmeval prepare )\S+(?= --weights$)")
"""The task in the command that ends a reason, which differs where nothing else does."""


class Lacking(NamedTuple):
    """Metrics of some tasks that cannot be computed, for one ``reason``, with what changes it."""

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        said = "metric {} is" if len(self.metrics) == 1 else "metrics {} are"
        metrics = said.format(", ".join(self.metrics))
        return f"{', '.join(self.tasks)}: the {metrics} unavailable: {self.reason}"


def lacking_in(tasks: Iterable[Task]) -> Iterator[Lacking]:
    """The metrics of tasks that are unavailable, by reason, in the order of the tasks. One that is made of another
    which is unavailable is not told: that is said of the piece."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for task in tasks:
        for metric in task.metrics:
            if metric.unavailable and not lacks_a_piece(metric, task.metrics):
                word = _WAY.search(metric.unavailable)
                entry = (task.name, metric.bound.name, word[0] if word else "")
                found.setdefault(_WAY.sub("\0", metric.unavailable), []).append(entry)
    for reason, entries in found.items():
        names, metrics, words = (tuple(dict.fromkeys(column)) for column in zip(*entries, strict=True))
        yield Lacking(names, metrics, reason.replace("\0", " ".join(words)))
