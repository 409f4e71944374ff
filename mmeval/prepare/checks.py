"""Checks of local data: files against the hub and the task file, counts, media."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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
from mmeval.errors import Caught, MmevalError, message_of
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.task.schema import ExpectedKeys
from mmeval.task.task import Task
from mmeval.wording import counted

MAX_NAMED = 10
"""Faults of one kind that are named; the others are counted."""

Mark: TypeAlias = tuple[str, str]
"""A medium: its kind, and its file."""


@dataclass
class Counts:
    """The contents of a data set; ``samples`` are those that each task's filter keeps.
    ``media`` are different files by kind, without those of rows that cannot be asked;
    ``faults`` are rows that cannot be read or asked, and media that are damaged or
    missing, and ``read`` is whether the data were read to their end. ``totals`` are the
    sums of some labels.

    ``row_marks`` and ``media_marks`` identify each different row, and each file with
    its kind, for comparison with other data sets; ``bad_marks`` are those of the rows
    that cannot be asked, ``torn_marks`` of those that lack media of candidates.
    """

    rows: int = 0
    samples: dict[str, int] = field(default_factory=dict)
    media: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    read: bool = True
    row_marks: set[str] = field(default_factory=set)
    media_marks: set[Mark] = field(default_factory=set)
    bad_marks: set[str] = field(default_factory=set)
    torn_marks: set[str] = field(default_factory=set)


def count(
    dataset: Dataset,
    tasks: Sequence[Task],
    place: str = "",
    look: MediaLook | None = None,
    totals: Collection[str] = (),
) -> Counts:
    """Read every row once for all tasks that share the data set. ``place`` identifies
    its rows, whichever are used. Each different medium is decoded while ``look`` has
    time. ``totals`` are the labels to sum."""
    found = Counts(
        samples={task.name: 0 for task in tasks}, totals=dict.fromkeys(totals, 0)
    )
    candidates = _Candidates()
    seen: set[Mark] = set()
    rows = rows_of(dataset)
    while True:
        with Caught() as failure:  # of the loader, whose iterator is spent then
            sample = next(rows, None)
        if failure:
            found.faults.append(
                f"row {found.rows + 1} and those after it cannot be read: "
                f"{message_of(failure.error)}"
            )
            found.read = False
        if failure or sample is None:
            found.faults += candidates.faults()
            return found
        found.rows += 1
        mark = digest(
            [
                place,
                sample.id,
                sample.fault,
                *(message.content.raw for message in sample.input),
            ]
        )
        found.row_marks.add(mark)
        for task in tasks:
            found.samples[task.name] += task.selected(sample)
        for label in totals:
            value = sample.metadata.get(label)
            found.totals[label] += value if type(value) is int else 0
        if sample.fault:
            found.faults.append(sample.fault)
            found.bad_marks.add(mark)
            continue  # its media may be the fault
        if candidates.add(sample):
            found.torn_marks.add(mark)
        for content in sample.contents:
            for part in content.parts:
                if part.media is not None:
                    _count_medium(part, part.media, seen, found, look)


@dataclass
class _Candidates:
    """Counts the media among the candidates of samples. A loader may keep a row of
    which some are missing, since only the metrics that compare them need them."""

    wanted: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """The first sample by the kind that it lacks."""

    def add(self, sample: Sample) -> bool:
        """Count those of a sample; True if it lacks one."""
        before = self.missing.total()
        for candidate in sample.candidates:
            for part in candidate.parts:
                # a tag in the text of a candidate announces a medium and is none
                is_missing = part.dangling and not part.raw
                if part.media is None and not is_missing:
                    continue
                self.wanted[part.kind] += 1
                if is_missing:
                    self.missing[part.kind] += 1
                    self.first.setdefault(part.kind, sample.id)
        return self.missing.total() > before

    def faults(self) -> Iterator[str]:
        for kind, count in self.missing.items():
            of = counted(self.wanted[kind], f"{kind} candidate")
            yield (
                f"{count:,} of {of} {'is' if count == 1 else 'are'} missing, the first "
                f"in sample {self.first[kind]!r}; fetch the media of the data set"
            )


def unexpected(expected: ExpectedKeys, counts: Counts, task: str) -> Iterator[str]:
    """Differences between the counts and the task file.
    Media are not compared where rows cannot be asked, whose media are not counted."""
    if not counts.read:
        return
    rows = {
        "rows": (expected.rows, counts.rows),
        "samples": (expected.samples, counts.samples[task]),
        **{
            label: (number, counts.totals[label])
            for label, number in expected.totals.items()
        },
    }
    yield from different(rows, {} if counts.bad_marks else expected.media, counts.media)


def different(
    rows: Mapping[str, tuple[int | None, int]],
    media: Mapping[str, int],
    there_are: Mapping[str, int],
) -> Iterator[str]:
    """Sentences for numbers that differ. ``rows`` are pairs of expected and actual
    numbers, ``media`` the expected ones by kind."""
    announced = {
        **rows,
        **{
            f"{kind} files": (number, there_are.get(kind, 0))
            for kind, number in media.items()
        },
    }
    for what, (number, there) in announced.items():
        if number is not None and number != there:
            are = (
                f"{there:,} {what} are"
                if there != 1
                else f"1 {what.removesuffix('s')} is"
            )
            yield (
                f"{are} there, the task file expects {number:,}; fetch them again, or "
                "correct the file"
            )


def wrong_files(expected: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The files of the task file that are missing or have other contents."""
    for name, sha256 in expected.items():
        try:
            path = path_inside(folder, name)
            digest = _digest(path, hashlib.sha256)
        except (OSError, MmevalError) as error:
            yield (
                f"{folder / name}: it is missing, or cannot be read "
                f"({message_of(error)})"
            )
            continue
        if digest != sha256:
            yield (
                f"{path}: its content is not what the task file expects (SHA-256 "
                f"{digest[:12]}...); fetch it again"
            )


def damaged(files: Iterable[HubFile], folder: Path) -> Iterator[str]:
    """The files of a repository that are missing or differ from the hub."""
    for file in files:
        path = folder / file.path
        there = size_on_disk(path)
        if there < 0:
            yield f"{path}: it is missing; run the same command again"
        elif there != file.size:
            yield (
                f"{path}: it has {there:,} bytes of {file.size:,}; {_fetch_again(path)}"
            )
        elif (digest := _digest_as_hub(path, file)) != file.etag:
            yield (
                f"{path}: its content is not that of the hub ({digest[:12]}...); "
                f"{_fetch_again(path)}"
            )


def bounded(faults: Iterable[str], where: str = "") -> list[str]:
    """The first faults, and the number of others; ``where`` is how to see them."""
    found = list(faults)
    more = len(found) - MAX_NAMED
    return [
        *found[:MAX_NAMED],
        *([f"and {more:,} more like these{where}"] if more > 0 else []),
    ]


def _count_medium(
    part: Part, media: Media, seen: set[Mark], found: Counts, look: MediaLook | None
) -> None:
    try:
        # A medium of a table has no path; its name may repeat, so its content counts
        # too.
        file = (
            str(media.path)
            if media.path is not None
            else f"{media.name} {media.sha256}"
        )
        mark = (part.kind, file)
        if mark in seen:
            return
        seen.add(mark)
        empty = not media.size
    except (MmevalError, OSError) as error:
        found.faults.append(message_of(error))
        return
    found.media[part.kind] = found.media.get(part.kind, 0) + 1
    found.media_marks.add(mark)
    if empty:
        found.faults.append(f"{media.label} is empty; fetch it again")
    elif (
        look is not None
        and part.kind != "code"
        and (fault := medium_problem(part, media) or look.fault(media))
    ):
        found.faults.append(
            f"{fault if media.label in fault else f'{media.label}: {fault}'}; fetch "
            "it again"
        )


def _fetch_again(path: Path) -> str:
    """Advice that names the target of a link: files of a cached snapshot are links."""
    return (
        f"delete {path.resolve() if path.is_symlink() else 'it'} and run the same "
        "command again"
    )


def _digest_as_hub(path: Path, file: HubFile) -> str:
    if file.is_large:
        return _digest(path, hashlib.sha256)
    as_git = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
    return _digest(path, lambda: as_git)


def _digest(path: Path, digest: Callable[[], hashlib._Hash]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, digest).hexdigest()
