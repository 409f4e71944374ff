"""Counts and reports bad samples.

A run skips samples that cannot be sent to the model. If the data contain no medium for
a tag in a sample, the run reports the sample and sends it unchanged.
"""

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
"""Maximum number of samples that are reported one by one. One more finding states how
many other samples are bad."""
MAX_CHARS = 400
"""Maximum number of characters of a fault in a message. A fault starts with the file
and the row."""
BUNDLED_TAGS = "bundled_tags"
"""The label that lists the tags that need no medium.

The file of such a tag is part of the medium of another tag, as a texture is part of a
mesh.
"""


def rows_of(dataset: Dataset) -> Iterator[Sample]:
    """Yields each row of a data set as a sample.

    A bad row becomes a sample with a fault. A sample without an id is called ``row N``,
    where N is the row number, from 1. Raises the errors of the loader. Raises TypeError
    for a row that is not a Sample or BadRow.
    """
    for number, row in enumerate(dataset, 1):
        if isinstance(row, Sample):
            yield row
        elif isinstance(row, BadRow):
            name = row.id or f"row {number}"
            yield Sample(name, (), metadata=row.labels, fault=row.fault)
        else:
            raise TypeError(
                f"the loader returned {row!r:.80} for row {number}; it must return a "
                "Sample or a BadRow"
            )


def without_content(sample: Sample, reason: str) -> Sample:
    """Replaces a sample that cannot be recorded by a bad sample without content.

    If the sample already has a fault, the new sample keeps that fault.
    """
    return replace(
        sample, input=(), references=(), candidates=(), fault=sample.fault or reason
    )


def error_of(sample: Sample) -> ErrorInfo | None:
    """Returns why the sample cannot be sent to the model, or None if it can."""
    return ErrorInfo("bad_sample", sample.fault) if sample.fault else None


@dataclass
class BadSamples:
    """The bad samples found so far.

    Each bad sample is counted once, even if several tasks use it. ``trials`` counts it
    once per task and repeat. Only the first ``MAX_NAMED`` samples are reported one by
    one.
    """

    trials: int = 0
    _all: set[int] = field(default_factory=set)
    _findings: dict[Finding, None] = field(default_factory=dict)
    _reported: set[int] = field(default_factory=set)
    """The samples that are reported one by one."""
    _tags: dict[Finding, None] = field(default_factory=dict)
    _more_tags: int = 0

    @property
    def count(self) -> int:
        return len(self._all)

    def add(
        self,
        task: str,
        sample: Sample,
        repeats: int = 1,
    ) -> None:
        self.trials += repeats
        key = hash((sample.id, sample.fault))
        self._all.add(key)
        if key in self._reported or len(self._reported) < MAX_NAMED:
            self._reported.add(key)
            self._findings[bad_sample(task, sample)] = None

    def inspect(self, task: str, sample: Sample) -> None:
        """Records the tags of a sample that have no medium."""
        for finding in tags_without_medium(task, sample):
            if len(self._tags) < MAX_NAMED:
                self._tags[finding] = None
            elif finding not in self._tags:
                self._more_tags += 1

    def findings(self) -> Iterator[Finding]:
        """Yields a finding per reported sample, and one with the number of others."""
        yield from self._findings
        if more := self.count - len(self._reported):
            cause = "more samples cannot be asked"
            yield Finding("bad_sample", count=more, cause=cause, severity="error")
        yield from self._tags
        if self._more_tags:
            cause = "more tags without a medium"
            yield Finding("bad_sample", count=self._more_tags, cause=cause)


def bad_sample(task: str, sample: Sample) -> Finding:
    """Returns the finding that a sample of a task cannot be sent to the model."""
    subject = Subject(task, sample=sample.id)
    fault = printable(sample.fault, limit=MAX_CHARS)
    return Finding("bad_sample", subject, cause=fault, severity="error")


def tags_without_medium(task: str, sample: Sample) -> Iterator[Finding]:
    """Yields a finding for each tag in the input for which the sample has no medium.

    The tag is sent to the model as text.
    """
    bundled = sample.metadata.get(BUNDLED_TAGS, ())
    for message in sample.input:
        for part in message.content.parts:
            if not part.dangling or part.label in bundled:
                continue
            if not part.raw.endswith(":"):  # a caption follows such a tag
                subject = Subject(task, sample=sample.id)
                cause = f"the tag {part.raw} in the input has no medium"
                yield Finding("bad_sample", subject, cause=cause)


def unread_rows(
    task: str,
    number: int,
    error: BaseException,
) -> Finding:
    """Returns the finding that a loader cannot read a row and all later rows.

    If the loader itself fails, the plugin is at fault, as in a run.
    """
    subject = Subject(task, sample=f"row {number} and later ones")
    finding = finding_of(error, subject)
    if finding.kind == "plugin":
        return finding
    return replace(finding, kind="bad_sample")


def in_words(sample: Sample) -> str:
    """Returns the name and fault of a sample, on one line."""
    return (
        f"sample {printable(repr(sample.id), limit=MAX_CHARS)}: "
        f"{printable(sample.fault, limit=MAX_CHARS)}"
    )
