"""Checks the samples of a task."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from jinja2 import TemplateRuntimeError

from mmeval.backend.reencoding import ENCODED_AS, USUAL_FORMATS, encoding_fault
from mmeval.dataset.bad_sample import (
    bad_sample,
    rows_of,
    tags_without_medium,
    unread_rows,
)
from mmeval.dataset.loaders.interleaved import InterleavedDataset, doubtful_labels
from mmeval.dataset.readable import LoaderFailure, readable
from mmeval.errors import (
    MissingDataError,
    UsageError,
    did_you_mean,
    message_of,
    written_instead,
)
from mmeval.findings.finding import Finding, Severity, Subject
from mmeval.media.decode.check import MediaCheck
from mmeval.media.decode.template import literal
from mmeval.media.embedded import medium_inside
from mmeval.media.parts import Interleaved, PartKind, text_part
from mmeval.metric.apply import score_one
from mmeval.prepare.checks import medium_fault
from mmeval.prepare.ready import open_findings
from mmeval.prepare.sources import TaskWithFile
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.run.data_size import fewer_samples, more_rows
from mmeval.system.yaml_document import KeyPath
from mmeval.task.file import TaskFile
from mmeval.task.task import SampleKinds, Task, TaskMetric

PROMPTED_ROWS = 3
_WRITTEN_LIST = "a list or a mapping that is written as text"


@dataclass
class SampleChecks:
    """Checks the samples of one task, in one pass over its first ``rows`` rows.

    Once all ``findings`` are read, ``selected`` is the number of samples that the
    task's filter keeps.
    """

    file: TaskFile
    task: Task
    rows: int | None
    look: MediaCheck = field(default_factory=MediaCheck)
    ids: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    odd_texts: set[str] = field(default_factory=set)
    """The labels that contain an unintended text, such as a list written as text. The
    empty label means references."""
    media: set[tuple[PartKind, Path]] = field(default_factory=set)
    """The checked media files, each with the kind that a row declares."""
    reencoded: Counter[str] = field(default_factory=Counter)
    """The number of input media in formats that most servers do not accept, by the
    format that is sent instead."""
    selected: int = 0
    unlabelled: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """The samples that lack a label used for slices or clusters. The key is this label
    and a similar label."""
    read: bool = True
    """True if the loader has read all requested rows."""
    whole: bool = True
    absent: bool = False
    """True if the data are missing on this machine, so no sample was checked."""

    def findings(self) -> Iterator[Finding]:
        try:
            dataset = self.task.dataset()
            length = len(dataset)
        # a plugin's loader may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            self.read = False
            self.absent = isinstance(error, MissingDataError)
            yield from open_findings(TaskWithFile(self.task, self.file), error)
            return
        is_written = isinstance(dataset, InterleavedDataset)
        yield from self._all(rows_of(dataset), is_written=is_written)
        is_read = self.read and (self.rows is None or self.rows >= length)
        self.whole = self.whole and is_read
        yield from more_rows(self.task, length)
        yield from fewer_samples(self.task, length, self.selected if is_read else None)
        if self.whole:
            yield from self._over_all()
        for (label, instead), samples in self.unlabelled.items():
            # a label that no sample has is reported by _over_all
            if label in self.labels:
                yield Finding(
                    "bad_sample",
                    Subject(self.task.name, sample=samples[0]),
                    len(samples),
                    self.selected,
                    cause=f"without the label {label!r}{instead}",
                )
        for form, count in self.reencoded.items():
            yield Finding(
                "unsupported",
                Subject(self.task.name),
                count=count,
                cause=f"servers that do not accept this format are sent {form}",
                severity="note",
            )

    def _all(self, samples: Iterator[Sample], *, is_written: bool) -> Iterator[Finding]:
        """Yields the findings of each sample. ``is_written`` is True if the rows follow
        the documented schema."""
        first_rows = islice(readable(samples), self.rows or None)
        for number, sample in enumerate(first_rows, start=1):
            if isinstance(sample, LoaderFailure):
                self.read = False
                yield unread_rows(self.task.name, number, sample.error)
                return
            if sample.fault:  # an invalid sample has nothing else to check
                self.whole = False
                yield bad_sample(self.task.name, sample)
                self.labels.update(sample.metadata)
                self.selected += self.task.selected(sample)
                continue
            if is_written:
                for label, advice in doubtful_labels(sample):
                    cause = f'the key "{label}" is treated as a label; {advice}'
                    yield self._sample_finding(sample, cause, "warning")
            yield from tags_without_medium(self.task.name, sample)
            yield from self._texts(sample)
            yield from self._of_sample(sample)

    def _of_sample(self, sample: Sample) -> Iterator[Finding]:
        if not sample.id:
            yield self._sample_finding(sample, "its id is empty")
        elif sample.id in self.ids:
            yield self._sample_finding(sample, "another sample has the same id")
        self.ids.add(sample.id)
        yield from self._modalities(sample)
        yield from self._media(sample)
        self.labels.update(sample.metadata)
        if not self.task.selected(sample):
            return
        self.selected += 1
        keys = self.file.keys
        labels = [*keys.breakdown, keys.cluster_key]
        for label in labels:
            if not label or sample.metadata.get(label) is not None:
                continue
            instead = ""
            if label not in sample.metadata:
                instead = written_instead(label, sample.metadata)
            self.unlabelled.setdefault((label, instead), []).append(sample.id)
        yield from self._answers(sample)
        for metric in self.task.metrics:
            reason = "" if sample.references else _unscored(metric, sample)
            if reason:
                cause = f"{metric.name} needs a reference: {reason}"
                yield self._sample_finding(sample, cause)
        for metric in self.task.metrics:
            fault = metric.bound.sample_fault(sample)
            if fault:
                cause = f"{metric.name} cannot score answers to it: {fault}"
                yield self._sample_finding(sample, cause)
        if self.selected <= PROMPTED_ROWS:
            try:
                self.task.prompt(sample)
            # a plugin's prompt may raise anything and call sys.exit
            except (Exception, SystemExit) as error:
                # the finding already names the place
                place = self.file.document.place(("prompt",))
                prefix = f"{place.file}:{place.line}: "
                message = message_of(error).removeprefix(prefix)
                yield self._task_file_finding(("prompt",), message)

    def _over_all(self) -> Iterator[Finding]:
        keys = self.file.keys
        if not self.ids:
            yield self._task_file_finding(("filter",), "there are no samples")
            return
        labels_by_key = {
            "filter": list(keys.filter),
            "breakdown": keys.breakdown,
            "prompt_fields": keys.prompt_fields,
            "cluster_key": [keys.cluster_key] if keys.cluster_key else [],
        }
        faults: dict[str, list[str]] = {}
        for key, labels in labels_by_key.items():
            faults[key] = []
            for label in labels:
                if label not in self.labels:
                    near = did_you_mean(label, self.labels)
                    faults[key].append(f"no sample has the label {label!r}{near}")
        if not self.selected:
            yield self._task_file_finding(
                ("filter",),
                "; ".join(["the filter keeps no sample", *faults["filter"]]),
            )
            return
        for key, causes in faults.items():
            for cause in causes:
                yield self._task_file_finding((key,), cause)

    def _texts(self, sample: Sample) -> Iterator[Finding]:
        """Yields a finding for each label that contains unintended texts."""
        for label, value in sample.metadata.items():
            if not isinstance(value, str) or label in self.odd_texts:
                continue
            kind = ""
            is_list = _is_list_of_python(value)
            if value.strip().startswith("["):
                is_list = is_list or isinstance(_json_of(value), list)
            if not is_list:
                kind = medium_inside(value)
            if not is_list and not kind:
                continue
            self.odd_texts.add(label)
            fault = f"a base64 medium ({kind})"
            advice = "add its column to media_columns or media of dataset_kwargs"
            if is_list:
                fault = _WRITTEN_LIST
                column = f'"{{{{ {label} | literal }}}}"'
                advice = f"write {column} in columns, or a list in the data"
            cause = f"the label {label!r} is {fault}; {advice}"
            yield self._sample_finding(sample, cause, "warning")
        for reference in sample.references:
            if _is_list_of_python(reference.text) and "" not in self.odd_texts:
                self.odd_texts.add("")
                cause = (
                    f"the reference is {_WRITTEN_LIST}; write references: "
                    '"{{ COLUMN | literal }}" in columns, or a list in the data'
                )
                yield self._sample_finding(sample, cause, "warning")

    def _modalities(self, sample: Sample) -> Iterator[Finding]:
        if self.task.input_modalities and self.task.selected(sample):
            kinds: set[PartKind] = set()
            for message in sample.input:
                parts = message.content.parts
                kinds.update(part.kind for part in parts if not part.dangling)
            for kind in sorted(kinds - set(self.task.input_modalities)):
                cause = f"it contains {kind}, which is not in input_modalities"
                yield self._sample_finding(sample, cause)
        if isinstance(self.task.output_kinds, SampleKinds):
            try:
                self.task.output_kinds(sample)
            except UsageError as error:
                place = f"task {self.file.name!r}, sample {sample.id!r}: "
                yield self._sample_finding(sample, str(error).removeprefix(place))

    def _answers(self, sample: Sample) -> Iterator[Finding]:
        try:
            allowed = set(self.task.output_kinds(sample))
        except UsageError:
            return  # reported by the check of the modalities
        if "text" in allowed:
            allowed.add("code")  # code is sent as text
        allowed.add("reasoning")
        kinds: set[PartKind] = set()
        for reference in sample.references:
            kinds.update(part.kind for part in reference.parts)
        for kind in sorted(kinds - allowed):
            cause = f"a reference contains {kind}, which is not in output_modalities"
            yield self._sample_finding(sample, cause, "warning")

    def _media(self, sample: Sample) -> Iterator[Finding]:
        parts = [part for content in sample.contents for part in content.parts]
        for part in parts:
            media = part.media
            if media is None or (part.kind, media.path) in self.media:
                continue
            if media.path is not None:
                self.media.add((part.kind, media.path))
            fault = medium_fault(part, media, self.look)
            if fault:
                yield self._sample_finding(sample, fault)
            elif any(part in message.content.parts for message in sample.input):
                formats = USUAL_FORMATS.get(part.kind, (media.mime,))
                if media.mime not in formats and not encoding_fault(part.kind, media):
                    self.reencoded[f"{media.mime} as {ENCODED_AS[part.kind]}"] += 1

    def _sample_finding(
        self,
        sample: Sample,
        cause: str,
        severity: Severity = "error",
    ) -> Finding:
        subject = Subject(self.task.name, sample=sample.id)
        return Finding("bad_sample", subject, cause=cause, severity=severity)

    def _task_file_finding(self, path: KeyPath, cause: str) -> Finding:
        subject = self.file.subject_at(path)
        return Finding("task_file", subject, cause=cause, severity="error")


def _is_list_of_python(text: str) -> bool:
    """Returns whether a text is a Python list or mapping. The result is False for JSON,
    because a task may require answers in JSON."""
    if not text.strip().startswith(("[", "{")):
        return False
    if _json_of(text) is not None:
        return False
    try:
        return isinstance(literal(text), (list, dict))
    except TemplateRuntimeError:
        return False


def _json_of(text: str) -> Any:
    """Returns the value of a JSON text, or None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unscored(metric: TaskMetric, sample: Sample) -> str:
    """Returns why a metric cannot score answers to a sample. The string is empty if the
    metric can score them, or if this cannot be tried."""
    if metric.unavailable or metric.bound.metric.judged or metric.bound.metric.derived:
        return ""
    trial = Trial(sample, output=Interleaved((text_part("probe"),)))
    for score in score_one(metric.bound, trial).values():
        if score.status == "unscored":
            return score.reason
    return ""
