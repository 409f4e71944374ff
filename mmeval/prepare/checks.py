"""What is here, looked at: the files against what the hub says of them and against the task file, the rows against
their number, every medium."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from mmeval.content.media import Media, path_inside
from mmeval.content.parts import Part
from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import Dataset
from mmeval.dataset.hub import HubFile
from mmeval.dataset.hub_cache import size_on_disk
from mmeval.decode.check import MediaLook, medium_problem
from mmeval.errors import Caught, MmevalError, told
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.task.schema import ExpectedKeys
from mmeval.task.task import Task

MAX_NAMED = 10
"""So many faults of one kind are named; the others are counted."""
_CHUNK = 1 << 20


Mark: TypeAlias = tuple[str, str]
"""A medium: its kind, and which file it is."""


@dataclass
class Counts:
    """What one data set holds. ``samples`` are those that the filter of each task keeps; ``media`` are different files
    by kind, without those of rows that cannot be asked; ``faults`` say what could not be read or cannot be asked, and
    ``read`` whether the data were read to their end.

    ``row_marks`` and ``media_marks`` name each different row, and each file with its kind, so that other data sets can
    be asked for the same; ``bad_marks`` are those of the rows that cannot be asked.
    """

    rows: int = 0
    samples: dict[str, int] = field(default_factory=dict)
    media: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    read: bool = True
    row_marks: set[str] = field(default_factory=set)
    media_marks: set[Mark] = field(default_factory=set)
    bad_marks: set[str] = field(default_factory=set)


def count(dataset: Dataset, tasks: Sequence[Task], place: str = "", look: MediaLook | None = None) -> Counts:
    """Read every row once for all tasks that share the data set. ``place`` is where its rows lie, whichever of them it
    takes. Each different medium is decoded as far as ``look`` has time for it."""
    found = Counts(samples={task.name: 0 for task in tasks})
    seen: set[Mark] = set()
    rows = rows_of(dataset)
    while True:
        with Caught() as failure:  # of the loader, whose iterator is spent then
            sample = next(rows, None)
        if failure:
            found.faults.append(f"row {found.rows + 1} and those after it cannot be read: {told(failure.error)}")
            found.read = False
        if failure or sample is None:
            return found
        found.rows += 1
        mark = digest([place, sample.id, sample.fault, *(message.content.raw for message in sample.input)])
        found.row_marks.add(mark)
        if sample.fault:
            found.faults.append(sample.fault)
            found.bad_marks.add(mark)
        for task in tasks:
            found.samples[task.name] += task.selected(sample)
        for part in () if sample.fault else _media_parts(sample):  # whose media may be what is wrong
            _count_medium(part, seen, found, look)


def _media_parts(sample: Sample) -> Iterator[Part]:
    contents = [message.content for message in sample.input] + list(sample.references)
    return (part for content in contents for part in content.parts if part.media is not None)


def _count_medium(part: Part, seen: set[Mark], found: Counts, look: MediaLook | None) -> None:
    media = part.media
    assert media is not None
    try:
        mark = (part.kind, _file(media))
        if mark in seen:
            return
        seen.add(mark)
        empty = not media.size
    except (MmevalError, OSError) as error:
        found.faults.append(told(error))
        return
    found.media[part.kind] = found.media.get(part.kind, 0) + 1
    found.media_marks.add(mark)
    if empty:
        found.faults.append(f"{media.label} is empty; fetch it again")
    elif look is not None and part.kind != "code" and (fault := medium_problem(part, media) or look.fault(media)):
        found.faults.append(f"{fault if media.label in fault else f'{media.label}: {fault}'}; fetch it again")


def _file(media: Media) -> str:
    """Which file a medium is: its path; of one out of a table its name with its content, since names repeat there."""
    return str(media.path) if media.path is not None else f"{media.name} {media.sha256}"


def unexpected(expected: ExpectedKeys, counts: Counts, task: str) -> Iterator[str]:
    """Where the counts are others than the task file says. Media are not compared where rows cannot be asked: theirs
    are not counted."""
    if not counts.read:
        return
    rows = {"rows": (expected.rows, counts.rows), "samples": (expected.samples, counts.samples[task])}
    yield from different(rows, {} if counts.bad_marks else expected.media, counts.media)


def different(
    rows: Mapping[str, tuple[int | None, int]], media: Mapping[str, int], there_are: Mapping[str, int]
) -> Iterator[str]:
    """Where numbers differ: ``rows`` holds pairs of what is expected and what there is, ``media`` what is expected of
    each kind."""
    announced = {**rows, **{f"{kind} files": (number, there_are.get(kind, 0)) for kind, number in media.items()}}
    for what, (number, there) in announced.items():
        if number is not None and number != there:
            are = f"{there:,} {what} are" if there != 1 else f"1 {what.removesuffix('s')} is"
            yield f"{are} there, the task file expects {number:,}; fetch them again, or correct the file"


def wrong_files(expected: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The files that the task file names and that are not there or hold something else."""
    for name, sha256 in expected.items():
        try:
            path = path_inside(folder, name)
            digest = _digest(path, hashlib.sha256())
        except (OSError, MmevalError) as error:
            yield f"{folder / name}: it is missing, or cannot be read ({told(error)})"
            continue
        if digest != sha256:
            yield f"{path}: its content is not what the task file expects (SHA-256 {digest[:12]}...); fetch it again"


def damaged(files: Iterable[HubFile], folder: Path) -> Iterator[str]:
    """The files of a repository that are not here as the hub has them."""
    for file in files:
        path = folder / file.path
        there = size_on_disk(path)
        if there < 0:
            yield f"{path}: it is missing; run the same command again"
        elif there != file.size:
            yield f"{path}: it has {there:,} bytes of {file.size:,}; {_fetch_again(path)}"
        elif (digest := _digest_as_hub(path, file)) != file.etag:
            yield f"{path}: its content is not that of the hub ({digest[:12]}...); {_fetch_again(path)}"


def _fetch_again(path: Path) -> str:
    """In the cache a file of a snapshot is a link, and what it leads to is what has to go."""
    return f"delete {path.resolve() if path.is_symlink() else 'it'} and run the same command again"


def _digest_as_hub(path: Path, file: HubFile) -> str:
    if file.is_large:
        return _digest(path, hashlib.sha256())
    return _digest(path, hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False))  # as git calls a file's content


def _digest(path: Path, digest: hashlib._Hash) -> str:
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            digest.update(data)
    return digest.hexdigest()


def bounded(faults: Iterable[str], where: str = "") -> list[str]:
    """The first faults, and how many more there are; ``where`` says how they are seen."""
    found = list(faults)
    more = len(found) - MAX_NAMED
    return [*found[:MAX_NAMED], *([f"and {more:,} more like these{where}"] if more > 0 else [])]
