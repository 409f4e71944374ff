"""Checks of local data: files against the hub and the task file, counts, media."""

from __future__ import annotations

import hashlib
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from mmeval.dataset.bad_sample import BadSamples, rows_of, unread_rows
from mmeval.dataset.contract import Dataset
from mmeval.dataset.hub import HubFile
from mmeval.dataset.hub_cache import size_on_disk
from mmeval.dataset.readable import LoaderFailure, readable
from mmeval.errors import MmevalError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import PREPARE_DATA
from mmeval.media.decode.check import MediaLook, medium_problem
from mmeval.media.media import Media, path_inside
from mmeval.media.parts import Part
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.task.schema import ExpectedKeys
from mmeval.task.task import Task

Mark: TypeAlias = tuple[str, str]
"""A medium: its kind, and its file."""


@dataclass
class DataCounts:
    """The contents of a data set; ``samples`` are those that each task's filter keeps.
    ``media`` are different files by kind, without those of rows that cannot be asked.
    ``findings`` are about rows that cannot be read or asked, and media that are damaged
    or missing; they name no task, as several may share the data. ``read`` is whether
    the data were read to their end. ``totals`` are the sums of some labels.

    ``row_marks`` and ``media_marks`` identify each different row, and each file with
    its kind, for comparison with other data sets; ``bad_marks`` are those of the rows
    that cannot be asked.
    """

    rows: int = 0
    samples: dict[str, int] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    read: bool = True
    row_marks: set[str] = field(default_factory=set)
    media_marks: set[Mark] = field(default_factory=set)
    bad_marks: set[str] = field(default_factory=set)

    @property
    def media(self) -> Mapping[str, int]:
        return Counter(kind for kind, _ in self.media_marks)


def count(
    dataset: Dataset,
    tasks: Sequence[Task],
    place: str = "",
    look: MediaLook | None = None,
    totals: Collection[str] = (),
) -> DataCounts:
    """Read every row once for all tasks that share the data set. ``place`` identifies
    its rows, whichever are used. Each different medium is decoded while ``look`` has
    time. ``totals`` are the labels to sum."""
    names = [task.name for task in tasks]
    found = DataCounts()
    found.samples = dict.fromkeys(names, 0)
    found.totals = dict.fromkeys(totals, 0)
    look = MediaLook() if look is None else look
    bad = BadSamples()
    candidates = _Candidates()
    for sample in readable(rows_of(dataset)):
        if isinstance(sample, LoaderFailure):
            found.findings.append(unread_rows("", found.rows + 1, sample.error))
            found.read = False
            break
        found.rows += 1
        texts = [message.content.raw for message in sample.input]
        mark = digest([place, sample.id, sample.fault, *texts])
        found.row_marks.add(mark)
        for task in tasks:
            found.samples[task.name] += task.selected(sample)
        for label in totals:
            value = sample.metadata.get(label)
            if type(value) is int:
                found.totals[label] += value
        if sample.fault:
            bad.add("", sample)
            found.bad_marks.add(mark)
            continue  # its media may be the fault
        candidates.add(sample)
        for content in sample.contents:
            for part in content.parts:
                if part.media is None:
                    continue
                fault = _count_medium(part, part.media, found, look)
                if fault:
                    bad.add("", replace(sample, fault=fault))
    found.findings += bad.findings()
    found.findings += candidates.findings()
    return found


@dataclass
class _Candidates:
    """Counts the media among the candidates of samples. A loader may keep a row of
    which some are missing, since only the metrics that compare them need them."""

    wanted: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """The first sample by the kind that it lacks."""

    def add(self, sample: Sample) -> None:
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

    def findings(self) -> Iterator[Finding]:
        for kind, count in self.missing.items():
            yield Finding(
                "missing_data",
                Subject(sample=self.first[kind]),
                count=count,
                of=self.wanted[kind],
                cause=f"candidates without their {kind}",
                severity="error",
            )


def count_findings(
    expected: ExpectedKeys,
    counts: DataCounts,
    task: str,
) -> Iterator[Finding]:
    """Differences between the counts and the task file.
    Media are not compared where rows cannot be asked, whose media are not counted."""
    if not counts.read:
        return
    numbers = {
        "rows": (expected.rows, counts.rows),
        "samples": (expected.samples, counts.samples[task]),
    }
    for label, number in expected.totals.items():
        numbers[label] = (number, counts.totals[label])
    media = {} if counts.bad_marks else expected.media
    yield from number_findings(task, numbers, media, counts.media)


def number_findings(
    task: str,
    numbers: Mapping[str, tuple[int | None, int]],
    media: Mapping[str, int],
    there_are: Mapping[str, int],
) -> Iterator[Finding]:
    """The numbers of a task or group that differ. ``numbers`` are pairs of an expected
    and an actual one, ``media`` the expected ones by kind."""
    announced = dict(numbers)
    for kind, number in media.items():
        announced[f"{kind} files"] = (number, there_are.get(kind, 0))
    subject = Subject(task)
    for name, (wanted, there) in announced.items():
        if wanted is None or wanted == there:
            continue
        if there < wanted:
            cause = f"fewer {name} than the task file expects"
            yield Finding("missing_data", subject, there, wanted, cause, "", "error")
        else:
            cause = f"more {name} than the task file expects ({wanted:,})"
            yield Finding(
                "other_definition", subject, there, cause=cause, severity="error"
            )


def wrong_files(
    task: str, expected: Mapping[str, str], folder: Path
) -> Iterator[Finding]:
    """The files of the task file that are missing or have other contents."""
    for name, sha256 in expected.items():
        subject = Subject(task, file=str(folder / name))
        try:
            actual = _digest(path_inside(folder, name), hashlib.sha256())
        except (OSError, MmevalError):
            cause = "missing, or it cannot be read"
            yield Finding("missing_data", subject, cause=cause, severity="error")
            continue
        if actual != sha256:
            cause = f"the task file expects another content (SHA-256 {actual[:12]}...)"
            yield Finding("damaged", subject, cause=cause, severity="error")


def damage_findings(files: Iterable[HubFile], folder: Path) -> Iterator[Finding]:
    """The files of a repository that are missing or differ from the hub."""
    for file in files:
        path = folder / file.path
        subject = Subject(file=str(path))
        there = size_on_disk(path)
        if there < 0:
            yield Finding(
                "missing_data",
                subject,
                cause="the file is not here",
                remedy=PREPARE_DATA,
                severity="error",
            )
            continue
        # small files are known by the digest of git
        sha = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
        if file.is_large:
            sha = hashlib.sha256()
        if there != file.size or _digest(path, sha) != file.etag:
            yield Finding(
                "damaged",
                subject,
                cause="not the content of the hub",
                # files of a cached snapshot are links
                remedy=f"rm {shlex.quote(str(path.resolve()))} && {PREPARE_DATA}",
                severity="error",
            )


def medium_fault(
    part: Part,
    media: Media,
    look: MediaLook,
) -> str:
    """What is wrong with a medium; empty if nothing. It is decoded while ``look`` has
    time; code is any text."""
    problem = medium_problem(part, media)
    if not problem and part.kind != "code":
        problem = look.fault(media)
    return f"{part.label or part.kind}: {problem}" if problem else ""


def _count_medium(
    part: Part,
    media: Media,
    found: DataCounts,
    look: MediaLook,
) -> str:
    """Count a medium, unless it is missing; what is wrong with a new one."""
    try:
        _ = media.size
        file = str(media.path)
        if media.path is None:
            # A medium of a table has no path; its name may repeat, so its content
            # counts too.
            file = f"{media.name} {media.sha256}"
    except (MmevalError, OSError):  # worded there
        return medium_fault(part, media, look)
    mark = (part.kind, file)
    if mark in found.media_marks:
        return ""
    found.media_marks.add(mark)
    return medium_fault(part, media, look)


def _digest(path: Path, sha: hashlib._Hash) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: sha).hexdigest()
