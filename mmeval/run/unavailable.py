"""What of some tasks cannot be scored here, whole or in part, told once for all that lack the same."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mmeval.task.derived_entries import lacks_a_piece
from mmeval.task.task import Task
from mmeval.wording import of_several

_WAY = re.compile(r"(?<=; run: mmeval prepare )\S+(?= --weights$)")
"""The task in the command that ends a reason, which differs where nothing else does."""


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


class Partial(NamedTuple):
    """Metrics of some tasks that are made of other numbers and go without some of these ``pieces``, for one
    ``reason``."""

    tasks: tuple[str, ...]
    metrics: tuple[str, ...]
    pieces: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        said = "metrics {} are" if len(self.metrics) > 1 else "metric {} is"
        metrics = said.format(", ".join(self.metrics))
        reason = of_several(self.reason) if len(self.pieces) > 1 else self.reason
        return f"{', '.join(self.tasks)}: the {metrics} partial, without {', '.join(self.pieces)}: {reason}"


def partial_in(tasks: Iterable[Task]) -> Iterator[Partial]:
    """The metrics of tasks that are made of what there is of their pieces, by why some are not there. Of a metric of
    the task that is unavailable :func:`lacking_in` tells why."""
    found: dict[str, list[tuple[str, str, str]]] = {}
    for task in tasks:
        told = {output for one in task.metrics if one.unavailable for output in one.bound.metric.outputs}
        for metric in task.metrics:
            for piece, reason in metric.without.items():
                why = "it is unavailable" if piece in told else reason
                found.setdefault(why, []).append((task.name, metric.bound.name, piece))
    for reason, entries in found.items():
        names, metrics, pieces = (tuple(dict.fromkeys(column)) for column in zip(*entries, strict=True))
        yield Partial(names, metrics, pieces, reason)


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
