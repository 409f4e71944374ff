"""Checks local data: files (against the hub and the task file), numbers and media."""

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
from mmeval.media.decode.check import MediaCheck, medium_problem
from mmeval.media.media import Media, path_inside
from mmeval.media.parts import Part
from mmeval.records.digests import digest
from mmeval.records.sample import Sample
from mmeval.task.schema import ExpectedKeys
from mmeval.task.task import Task

Mark: TypeAlias = tuple[str, str]
"""Identifies a medium by its kind and its file."""


@dataclass
class DataCounts:
    """What a data set contains, in numbers, and findings about it.

    - ``samples``: number of samples that remain after a task's filter, by task
    - ``media``: number of distinct files by kind, without files of bad rows
    - ``totals``: sums of the requested labels
    - ``findings``: findings about rows that cannot be read or used for a request, and
      about damaged or missing media. These findings do not name a task, since several
      tasks may share the data
    - ``read``: True if the data were read to the end
    - ``row_marks``, ``media_marks``, ``bad_marks``: marks that identify the distinct
      rows, the distinct files, and the rows that cannot be used; groups of tasks are
      counted by these marks
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
    look: MediaCheck | None = None,
    totals: Collection[str] = (),
) -> DataCounts:
    """Counts a data set, reading every row once for all tasks that share it.

    ``place`` identifies the data set. Each distinct medium is decoded until the time of
    ``look`` is over. ``totals`` are the labels whose values are summed.
    """
    names = [task.name for task in tasks]
    counts = DataCounts()
    counts.samples = dict.fromkeys(names, 0)
    counts.totals = dict.fromkeys(totals, 0)
    look = MediaCheck() if look is None else look
    bad = BadSamples()
    candidates = _Candidates()
    for sample in readable(rows_of(dataset)):
        if isinstance(sample, LoaderFailure):
            counts.findings.append(unread_rows("", counts.rows + 1, sample.error))
            counts.read = False
            break
        counts.rows += 1
        texts = [message.content.raw for message in sample.input]
        mark = digest([place, sample.id, sample.fault, *texts])
        counts.row_marks.add(mark)
        for task in tasks:
            counts.samples[task.name] += task.selected(sample)
        for label in totals:
            value = sample.metadata.get(label)
            if type(value) is int:
                counts.totals[label] += value
        if sample.fault:
            bad.add("", sample)
            counts.bad_marks.add(mark)
            continue  # its media may be the cause
        candidates.add(sample)
        for content in sample.contents:
            for part in content.parts:
                if part.media is None:
                    continue
                fault = _count_medium(part, part.media, counts, look)
                if fault:
                    bad.add("", replace(sample, fault=fault))
    counts.findings += bad.findings()
    counts.findings += candidates.findings()
    return counts


@dataclass
class _Candidates:
    """Counts the media in the candidates of samples.

    A loader may keep a row whose candidates are missing, since only some metrics need
    them.
    """

    expected: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    """The first sample with a missing medium, by kind."""

    def add(self, sample: Sample) -> None:
        for candidate in sample.candidates:
            for part in candidate.parts:
                # a tag in the text of a candidate is not a medium
                is_missing = part.dangling and not part.raw
                if part.media is None and not is_missing:
                    continue
                self.expected[part.kind] += 1
                if is_missing:
                    self.missing[part.kind] += 1
                    self.first.setdefault(part.kind, sample.id)

    def findings(self) -> Iterator[Finding]:
        for kind, count in self.missing.items():
            yield Finding(
                "missing_data",
                Subject(sample=self.first[kind]),
                count=count,
                of=self.expected[kind],
                cause=f"candidates without their {kind}",
                severity="error",
            )


def count_findings(
    expected: ExpectedKeys,
    counts: DataCounts,
    task: str,
) -> Iterator[Finding]:
    """Yields a finding for each count that differs from the task file.

    Media are not compared if there are bad rows, since the media of bad rows are not
    counted.
    """
    if not counts.read:
        return
    numbers = {
        "rows": (expected.rows, counts.rows),
        "samples": (expected.samples, counts.samples[task]),
    }
    for label, number in expected.totals.items():
        numbers[label] = (number, counts.totals[label])
    expected_media = {} if counts.bad_marks else expected.media
    yield from number_findings(task, numbers, expected_media, counts.media)


def number_findings(
    task: str,
    numbers: Mapping[str, tuple[int | None, int]],
    media: Mapping[str, int],
    actual_media: Mapping[str, int],
) -> Iterator[Finding]:
    """Yields a finding for each number that differs from the file of a task or group.

    ``numbers`` are pairs of an expected and an actual number. ``media`` are the
    expected numbers by kind.
    """
    pairs = dict(numbers)
    for kind, number in media.items():
        pairs[f"{kind} files"] = (number, actual_media.get(kind, 0))
    subject = Subject(task)
    for name, (expected, actual) in pairs.items():
        if expected is None or expected == actual:
            continue
        if actual < expected:
            cause = f"fewer {name} than the task file expects"
            yield Finding("missing_data", subject, actual, expected, cause, "", "error")
        else:
            cause = f"more {name} than the task file expects ({expected:,})"
            yield Finding(
                "other_definition", subject, actual, cause=cause, severity="error"
            )


def wrong_files(
    task: str, expected: Mapping[str, str], folder: Path
) -> Iterator[Finding]:
    """Yields findings for files that are missing or have another digest than expected.

    The task file contains the expected digest of each file.
    """
    for name, sha256 in expected.items():
        subject = Subject(task, file=str(folder / name))
        try:
            actual = _digest(path_inside(folder, name), hashlib.sha256())
        except (OSError, MmevalError):
            cause = "the file is missing or cannot be read"
            yield Finding("missing_data", subject, cause=cause, severity="error")
            continue
        if actual != sha256:
            cause = f"the content differs from the task file (SHA-256 {actual[:12]}...)"
            yield Finding("damaged", subject, cause=cause, severity="error")


def damage_findings(files: Iterable[HubFile], folder: Path) -> Iterator[Finding]:
    """Yields findings for files that are missing or differ from those on the hub."""
    for file in files:
        path = folder / file.path
        subject = Subject(file=str(path))
        actual_size = size_on_disk(path)
        if actual_size < 0:
            yield Finding(
                "missing_data",
                subject,
                cause="the file is missing",
                remedy=PREPARE_DATA,
                severity="error",
            )
            continue
        # the hub lists small files by their git digest
        sha = hashlib.sha1(b"blob %d\0" % file.size, usedforsecurity=False)
        if file.is_large:
            sha = hashlib.sha256()
        if actual_size != file.size or _digest(path, sha) != file.etag:
            yield Finding(
                "damaged",
                subject,
                cause="the file differs from the file on the hub",
                # files of a cached snapshot are links
                remedy=f"rm {shlex.quote(str(path.resolve()))} && {PREPARE_DATA}",
                severity="error",
            )


def medium_fault(
    part: Part,
    media: Media,
    look: MediaCheck,
) -> str:
    """Returns the fault of a medium, or an empty string.

    The medium is decoded unless the time of ``look`` is over. Code is not decoded,
    since any text is valid.
    """
    problem = medium_problem(part, media)
    if not problem and part.kind != "code":
        problem = look.fault(media)
    return f"{part.label or part.kind}: {problem}" if problem else ""


def _count_medium(
    part: Part,
    media: Media,
    counts: DataCounts,
    look: MediaCheck,
) -> str:
    """Counts a medium unless it is missing.

    Returns its fault, or an empty string if the medium was counted before.
    """
    try:
        _ = media.size
        file = str(media.path)
        if media.path is None:
            # a medium in a parquet column has no path, and its name may not be unique
            file = f"{media.name} {media.sha256}"
    except (MmevalError, OSError):  # medium_fault reports it
        return medium_fault(part, media, look)
    mark = (part.kind, file)
    if mark in counts.media_marks:
        return ""
    counts.media_marks.add(mark)
    return medium_fault(part, media, look)


def _digest(path: Path, sha: hashlib._Hash) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: sha).hexdigest()
