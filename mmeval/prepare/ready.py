"""Which tasks are ready: their data open, hold what they should, and their metrics' weights are here."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mmeval.content.media import path_inside
from mmeval.decode.check import MediaLook
from mmeval.errors import Caught, MissingDataError, MmevalError, told
from mmeval.metric.model import named_in
from mmeval.prepare.checks import MAX_NAMED, Counts, bounded, count, damaged, unexpected, wrong_files
from mmeval.prepare.sizes import Measured
from mmeval.prepare.sources import Source, Wanted, data_source
from mmeval.task.data import TaskData
from mmeval.task.schema import ByHandKeys

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Readiness:
    """A task, and what a run of it would meet. ``faults`` keep it from running, ``notes`` do not."""

    task: str
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()
    counts: Counts | None = None

    @property
    def ready(self) -> bool:
        return not self.faults


class _DataSet(NamedTuple):
    """What tasks over the same data have in common."""

    loader: str
    folder: Path
    name: str
    split: str
    options: str


def readiness(
    tasks: Sequence[Wanted],
    found: Mapping[Source, Measured | MmevalError],
    *,
    weights: bool,
    look: MediaLook | None = None,
) -> Iterator[Readiness]:
    """The state of each task. ``found`` are the sources that were fetched, each with its listing, or why it was not.
    Data that several tasks share are read once, and their media decoded as far as ``look`` has time for them."""
    shared: dict[_DataSet, list[Wanted]] = {}
    checked: dict[Source, list[str]] = {}
    counted: dict[str, Counts] = {}
    failed: dict[str, list[str]] = {}
    for item in tasks:
        try:
            source = data_source(item.data)
            state = found.get(source) if source is not None else None
            if isinstance(state, MmevalError):
                raise state
            if source is not None and isinstance(state, Measured) and source not in checked:
                checked[source] = bounded(damaged(state.listing.files if state.listing else (), item.data.folder))
            failed[item.task.name] = list(checked.get(source, ())) if source is not None else []
            shared.setdefault(_data_set(item), []).append(item)
        except MmevalError as error:
            failed[item.task.name] = [*by_hand(item)] or [f"{error}{_or_a_folder(item, error)}"]
    for members in shared.values():
        _count(members, counted, failed, look)
    for item in tasks:
        yield _state(item, counted.get(item.task.name), failed[item.task.name], weights=weights)


def _or_a_folder(item: Wanted, error: MmevalError) -> str:
    """The way out for who has the data set elsewhere."""
    if not isinstance(error, MissingDataError) or item.data.data_dir is not None:
        return ""
    return "; if you have the data set in a folder, name that with --data_dir FOLDER"


def _data_set(item: Wanted) -> _DataSet:
    data = item.data
    return _DataSet(item.file.keys.loader, data.folder, data.name, data.split, repr(data.options))


def _count(
    members: Sequence[Wanted], counted: dict[str, Counts], failed: dict[str, list[str]], look: MediaLook | None
) -> None:
    """Read the data of tasks that share them."""
    with Caught() as failure:
        dataset = members[0].data()
        place = str(_data_set(members[0])._replace(options=""))
        counts = count(dataset, [item.task for item in members], place, look)
    if failure:
        for item in members:
            failed[item.task.name] += [*by_hand(item)] or [told(failure.error)]
        return
    for fault in counts.faults[MAX_NAMED:]:
        _log.debug("%s", fault)
    for item in members:
        counted[item.task.name] = counts


def _state(item: Wanted, counts: Counts | None, faults: Sequence[str], *, weights: bool) -> Readiness:
    expected, name = item.file.keys.expected, item.task.name
    found, notes = list(faults), list(_weight_notes(item, asked=weights))
    if counts is not None:
        by_hands = list(by_hand(item))
        if counts.faults:
            found += by_hands
        else:
            notes += [f"{message} (every row can be read without it)" for message in by_hands]
        found += [
            *bounded(counts.faults, " (--verbosity DEBUG names them)"),
            *bounded(unexpected(expected, counts, name)),
        ]
        found += bounded(wrong_files(expected.files, item.data.folder))
    if weights:
        found += [f"the metric {metric}: {'; '.join(filter(None, how))}" for metric, *how in _lacking(item)]
    return Readiness(name, tuple(found), tuple(notes), counts)


def _weight_notes(item: Wanted, *, asked: bool) -> Iterator[str]:
    if not asked:
        for metric, message, by_hand_only in _lacking(item):
            yield f"the metric {metric} will be unavailable: {message}; {by_hand_only or '--weights fetches them'}"


def _lacking(item: Wanted) -> Iterator[tuple[str, str, str]]:
    """The metrics whose weights are not here, with what lacks, and how to get what is not fetched."""
    for metric in item.task.metrics:
        for switch, lacks in metric.bound.lacking_models():
            message = f"its model {named_in(metric.bound.models[switch])} is not here ({lacks})"
            yield metric.bound.name, message, metric.bound.metric.models[switch].by_hand


def by_hand(item: Wanted) -> Iterator[str]:
    """What somebody has to fetch and has not, with where it is and where to put it."""
    folder = _own_folder(item.data)
    for entry in item.file.keys.by_hand:
        if not any(
            path_inside(place, entry.path).exists() for place in (folder, item.data.beside) if place is not None
        ):
            yield f"{entry.path} is fetched by hand: {_where(entry, folder)}"


def _own_folder(data: TaskData) -> Path | None:
    """The folder of the user's that holds the data; None where none was named, and for a data set of the hub."""
    if data.data_dir is not None:
        return data.folder if data.data_dir.is_dir() else data.data_dir
    try:
        return data.local() if data.path else None
    except MmevalError:
        return None


def _where(entry: ByHandKeys, folder: Path | None) -> str:
    note = f" ({entry.note})" if entry.note else ""
    if folder is not None:
        return f"take {entry.source}{note} and put it at {folder / entry.path}"
    return (
        f"take {entry.source}{note}, put it into a folder of yours as {entry.path}, and name that folder with "
        "--data_dir FOLDER (or MMEVAL_DATA_DIR)"
    )
