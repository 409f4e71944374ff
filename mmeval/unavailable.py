"""What of some tasks cannot be scored here, told once for all that lack the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mmeval.pieces import lacks_a_piece
from mmeval.task import Task

_WAY = re.compile(r"(?<=; run: mmeval prepare )\S+(?= --weights$)")
"""The task in the command that ends a reason, which differs where nothing else does."""

_OF_ONE = re.compile(r"^it (?:asks|is)\b|(?<=\(as )its\b")
"""Where a reason speaks of the metric, as one metric says it of itself."""


_SEVERAL = {"it asks": "they ask", "it is": "they are", "its": "their"}


def of_several(reason: str) -> str:
    """A reason that one metric gives of itself, said of several."""
    return _OF_ONE.sub(lambda found: _SEVERAL[found[0]], reason)


class Lacking(NamedTuple):
    """Metrics of some tasks that cannot be computed, for one ``reason``, with what changes it."""

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        several = len(self.metrics) > 1
        said = "metrics {} are" if several else "metric {} is"
        metrics = said.format(", ".join(self.metrics))
        reason = of_several(self.reason) if several else self.reason
        return f"{', '.join(self.tasks)}: the {metrics} unavailable: {reason}"


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
