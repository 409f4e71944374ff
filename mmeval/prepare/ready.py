"""Readiness of tasks: whether their data are complete and their weights present."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mmeval.content.media import path_inside
from mmeval.decode.check import MediaLook
from mmeval.errors import Caught, MissingDataError, MmevalError, message_of
from mmeval.findings.finding import Finding, Subject
from mmeval.metric.model import named_in
from mmeval.prepare.checks import (
    MAX_NAMED,
    Counts,
    bounded,
    count,
    damaged,
    unexpected,
    wrong_files,
)
from mmeval.prepare.sizes import Measured
from mmeval.prepare.sources import Source, WantedTask, data_source

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Readiness:
    """A task with ``faults``, which prevent a run, and ``notes``, which do not."""

    task: str
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()
    counts: Counts | None = None

    @property
    def ready(self) -> bool:
        return not self.faults


class _DataSet(NamedTuple):
    """The data that several tasks may share."""

    loader: str
    folder: Path
    name: str
    split: str
    options: str


def readiness(
    tasks: Sequence[WantedTask],
    found: Mapping[Source, Measured | MmevalError],
    *,
    weights: bool,
    look: MediaLook | None = None,
) -> Iterator[Readiness]:
    """Check each task; ``found`` has each source's listing, or the error of its fetch.

    Data that several tasks share are read once, and their media decoded while ``look``
    has time.
    """
    shared: dict[_DataSet, list[WantedTask]] = {}
    checked: dict[Source, list[str]] = {}
    counted: dict[str, Counts] = {}
    failed: dict[str, list[str]] = {}
    for item in tasks:
        try:
            source = data_source(item.data)
            state = found.get(source) if source is not None else None
            if isinstance(state, MmevalError):
                raise state
            if (
                source is not None
                and isinstance(state, Measured)
                and source not in checked
            ):
                checked[source] = bounded(
                    damaged(
                        state.listing.files if state.listing else (), item.data.folder
                    )
                )
            failed[item.task.name] = (
                list(checked.get(source, ())) if source is not None else []
            )
            shared.setdefault(_data_set(item), []).append(item)
        except MmevalError as error:
            advice = ""
            if isinstance(error, MissingDataError) and item.data.data_dir is None:
                advice = (
                    "; if you have the data set in a folder, name that with "
                    "--data_dir FOLDER"
                )
            failed[item.task.name] = _causes(item) or [f"{error}{advice}"]
    for members in shared.values():
        _count(members, counted, failed, look)
    for item in tasks:
        yield _state(
            item, counted.get(item.task.name), failed[item.task.name], weights=weights
        )


def _data_set(item: WantedTask) -> _DataSet:
    data = item.data
    return _DataSet(
        item.file.keys.loader, data.folder, data.name, data.split, repr(data.options)
    )


def _count(
    members: Sequence[WantedTask],
    counted: dict[str, Counts],
    failed: dict[str, list[str]],
    look: MediaLook | None,
) -> None:
    """Read data once for the tasks that share them."""
    with Caught() as failure:
        dataset = members[0].data()
        place = str(_data_set(members[0])._replace(options=""))
        totals = sorted(
            {label for item in members for label in item.file.keys.expected.totals}
        )
        counts = count(dataset, [item.task for item in members], place, look, totals)
    if failure:
        for item in members:
            failed[item.task.name] += _causes(item) or [message_of(failure.error)]
        return
    for fault in counts.faults[MAX_NAMED:]:
        _log.debug("%s", fault)
    for item in members:
        counted[item.task.name] = counts


def _state(
    item: WantedTask, counts: Counts | None, faults: Sequence[str], *, weights: bool
) -> Readiness:
    expected, name = item.file.keys.expected, item.task.name
    found, notes = list(faults), list[str]()
    if counts is not None:
        by_hands = _causes(item)
        if counts.faults:
            found += by_hands
        else:
            notes += [
                f"{message} (every row can be read without it)" for message in by_hands
            ]
        found += [
            *bounded(counts.faults, " (--verbosity DEBUG names them)"),
            *bounded(unexpected(expected, counts, name)),
        ]
        found += bounded(wrong_files(expected.files, item.data.folder))
    for metric, message, by_hand_only in _lacking(item):
        if weights:
            found.append(
                f"the metric {metric}: "
                f"{'; '.join(filter(None, (message, by_hand_only)))}"
            )
        else:
            advice = by_hand_only or "--weights fetches them"
            notes.append(
                f"the metric {metric} will be unavailable: {message}; {advice}"
            )
    return Readiness(name, tuple(found), tuple(notes), counts)


def _lacking(item: WantedTask) -> Iterator[tuple[str, str, str]]:
    """The metrics with missing weights, what is missing, and how to get it by hand."""
    for metric in item.task.metrics:
        for switch, lacks in metric.bound.missing_models():
            message = (
                f"its model {named_in(metric.bound.models[switch])} is not here "
                f"({lacks})"
            )
            yield metric.bound.name, message, metric.bound.metric.models[switch].by_hand


def _causes(item: WantedTask) -> list[str]:
    return [finding.cause for finding in by_hand(item)]


def by_hand(item: WantedTask) -> Iterator[Finding]:
    """The missing files that the user has to fetch, with where to get and to put
    them."""
    data = item.data
    try:
        folder = data.local() if data.path and data.data_dir is None else None
    except MmevalError:
        folder = None
    if data.data_dir is not None:
        folder = data.folder if data.data_dir.is_dir() else data.data_dir
    for entry in item.file.keys.by_hand:
        if any(
            path_inside(place, entry.path).exists()
            for place in (folder, data.beside)
            if place is not None
        ):
            continue
        note = f" ({entry.note})" if entry.note else ""
        cause = f"fetch {entry.path} by hand: {entry.source}{note}"
        remedy = "--data_dir FOLDER"
        if folder is not None:
            cause, remedy = f"{cause}; put it at {folder / entry.path}", ""
        yield Finding(
            "missing_data",
            Subject(item.task.name),
            cause=cause,
            remedy=remedy,
            severity="error",
        )
