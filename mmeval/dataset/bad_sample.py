"""Bad samples. Those that cannot be put to a model are counted and named, and never
asked. Those with a tag without a medium are named, and asked as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mmeval.dataset.contract import BadRow, Dataset
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.records.response import ErrorInfo
from mmeval.records.sample import Sample
from mmeval.system.wording import printable

MAX_NAMED = 9
"""Samples that are named; the others are counted. Their count is the tenth finding, the
last that a list shows."""
MAX_CHARS = 400
"""Characters of a fault in a message; it begins with the file and the row."""
BUNDLED_TAGS = "bundled_tags"
"""The label that lists tags without a medium of their own, as their file belongs to
another tag: the texture of a mesh."""


def rows_of(dataset: Dataset) -> Iterator[Sample]:
    """Every row of a data set as a sample; that of a bad row has its fault. Without an
    id it is called ``row N``, by its place in the data set from 1.

    Raises what the loader raises, and TypeError for a row that is something else.
    """
    for number, row in enumerate(dataset, 1):
        if isinstance(row, Sample):
            yield row
        elif isinstance(row, BadRow):
            name = row.id or f"row {number}"
            yield Sample(name, (), metadata=row.labels, fault=row.fault)
        else:
            raise TypeError(
                f"the loader gave {row!r:.80} for row {number}: neither a Sample nor "
                "a BadRow"
            )


def without_content(sample: Sample, reason: str) -> Sample:
    """A sample whose content cannot be recorded, as a bad one; an earlier fault
    stays."""
    return replace(
        sample, input=(), references=(), candidates=(), fault=sample.fault or reason
    )


def error_of(sample: Sample) -> ErrorInfo | None:
    """Why the sample is not asked; None for one that can be."""
    return ErrorInfo("bad_sample", sample.fault) if sample.fault else None


@dataclass
class BadSamples:
    """The bad samples found so far: each once for all tasks, the first few in words.
    ``trials`` counts each task and repeat."""

    trials: int = 0
    _seen: set[int] = field(default_factory=set)
    _named: dict[Finding, None] = field(default_factory=dict)
    _kept: set[int] = field(default_factory=set)
    """The samples that are kept in words."""
    _tags: dict[Finding, None] = field(default_factory=dict)
    _more_tags: int = 0

    @property
    def count(self) -> int:
        return len(self._seen)

    def add(
        self,
        task: str,
        sample: Sample,
        repeats: int = 1,
    ) -> None:
        self.trials += repeats
        mark = hash((sample.id, sample.fault))
        self._seen.add(mark)
        if mark in self._kept or len(self._kept) < MAX_NAMED:
            self._kept.add(mark)
            self._named[bad_sample(task, sample)] = None

    def inspect(self, task: str, sample: Sample) -> None:
        """Note the tags without a medium of a sample that is asked."""
        for finding in tags_without_medium(task, sample):
            if len(self._tags) < MAX_NAMED:
                self._tags[finding] = None
            elif finding not in self._tags:
                self._more_tags += 1

    def findings(self) -> Iterator[Finding]:
        """The samples that are kept in words, and how many more there are."""
        yield from self._named
        if more := self.count - len(self._kept):
            cause = "more samples cannot be asked"
            yield Finding("bad_sample", count=more, cause=cause, severity="error")
        yield from self._tags
        if self._more_tags:
            cause = "more tags without a medium"
            yield Finding("bad_sample", count=self._more_tags, cause=cause)


def bad_sample(task: str, sample: Sample) -> Finding:
    """That a sample of a task cannot be asked."""
    subject = Subject(task, sample=sample.id)
    fault = printable(sample.fault, limit=MAX_CHARS)
    return Finding("bad_sample", subject, cause=fault, severity="error")


def tags_without_medium(task: str, sample: Sample) -> Iterator[Finding]:
    """The tags in a sample's input that have no medium. The model gets them as text."""
    bundled = sample.metadata.get(BUNDLED_TAGS, ())
    subject = Subject(task, sample=sample.id)
    for message in sample.input:
        for part in message.content.parts:
            if not part.dangling or part.label in bundled:
                continue
            if not part.raw.endswith(":"):  # else its caption follows
                cause = f"the tag {part.raw} in the input has no medium"
                yield Finding("bad_sample", subject, cause=cause)


def unread_rows(
    task: str,
    number: int,
    error: BaseException,
) -> Finding:
    """That a loader cannot read a row, from 1, and those after it."""
    subject = Subject(task, sample=f"row {number} and later ones")
    return replace(finding_of(error, subject), kind="bad_sample")


def in_words(sample: Sample) -> str:
    """A sample by its name and fault, on one line."""
    return (
        f"sample {printable(repr(sample.id), limit=MAX_CHARS)}: "
        f"{printable(sample.fault, limit=MAX_CHARS)}"
    )
