"""The checks of a task that read its samples."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
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
from mmeval.media.decode.check import MediaLook
from mmeval.media.decode.template import literal
from mmeval.media.embedded import medium_inside
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind, text_part
from mmeval.metric.apply import score_one
from mmeval.prepare.checks import medium_fault
from mmeval.prepare.ready import unopened
from mmeval.prepare.sources import WantedTask
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.run.data_size import fewer_samples, more_rows
from mmeval.system.yaml_document import KeyPath
from mmeval.task.file import TaskFile
from mmeval.task.task import SampleKinds, Task, TaskMetric

PROMPTED_ROWS = 3
_WRITTEN_LIST = "a list or a mapping that is written as a text"


@dataclass
class SampleChecks:
    """The checks of one task that read samples, in one pass over its first ``rows``.

    After ``findings``, ``selected`` counts the samples that the task keeps.
    """

    file: TaskFile
    task: Task
    rows: int | None
    look: MediaLook = field(default_factory=MediaLook)
    ids: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    odd_texts: set[str] = field(default_factory=set)
    """Labels with a text that nobody means as one; empty for references."""
    media: set[tuple[PartKind, Path]] = field(default_factory=set)
    """The files of media that were checked, each as the kind that a row announces."""
    reencoded: Counter[str] = field(default_factory=Counter)
    """Media of inputs in formats that most servers do not take, by what is sent."""
    selected: int = 0
    unlabelled: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    """The samples without a label of slices or clusters, by the label and what they
    have instead."""
    read: bool = True
    """Whether the loader has read each wanted row."""
    whole: bool = True
    absent: bool = False
    """Whether the data are missing on this machine, so that no sample was checked."""

    def findings(self) -> Iterator[Finding]:
        try:
            dataset = self.task.dataset()
            length = len(dataset)
        # a plugin's loader may raise anything and call sys.exit
        except (Exception, SystemExit) as error:
            self.read = False
            self.absent = isinstance(error, MissingDataError)
            yield from unopened(WantedTask(self.task, self.file), error)
            return
        written = isinstance(dataset, InterleavedDataset)
        yield from self._all(rows_of(dataset), written=written)
        is_read = self.read and (self.rows is None or self.rows >= length)
        self.whole = self.whole and is_read
        yield from more_rows(self.task, length)
        yield from fewer_samples(self.task, length, self.selected if is_read else None)
        if self.whole:
            yield from self._over_all()
        yield from self._unlabelled()
        for form, count in self.reencoded.items():
            yield Finding(
                "unsupported",
                Subject(self.task.name),
                count=count,
                cause=f"servers that lack the format get {form}",
                severity="note",
            )

    def _all(self, samples: Iterator[Sample], *, written: bool) -> Iterator[Finding]:
        """The findings of each sample; ``written`` for rows of the documented
        schema."""
        wanted = islice(readable(samples), self.rows or None)
        for number, sample in enumerate(wanted, start=1):
            if isinstance(sample, LoaderFailure):
                self.read = False
                yield unread_rows(self.task.name, number, sample.error)
                return
            if sample.fault:  # it cannot be asked, and has nothing else to check
                self.whole = False
                yield bad_sample(self.task.name, sample)
                self.labels.update(sample.metadata)
                self.selected += self.task.selected(sample)
                continue
            for label, advice in doubtful_labels(sample) if written else ():
                cause = f'the key "{label}" is taken as a label; {advice}'
                yield self._of(sample, cause, "warning")
            yield from tags_without_medium(self.task.name, sample)
            yield from self._texts(sample)
            yield from self._of_sample(sample)

    def _of_sample(self, sample: Sample) -> Iterator[Finding]:
        if not sample.id:
            yield self._of(sample, "a sample has an empty id")
        elif sample.id in self.ids:
            yield self._of(sample, "another sample has the same id")
        self.ids.add(sample.id)
        yield from self._modalities(sample)
        yield from self._media(sample)
        self.labels.update(sample.metadata)
        if not self.task.selected(sample):
            return
        self.selected += 1
        self._note_labels(sample)
        yield from self._answers(sample)
        if not sample.references:
            yield from self._references(sample)
        for metric in self.task.metrics:
            if fault := metric.bound.sample_fault(sample):
                cause = f"{metric.name} can score no answer to it: {fault}"
                yield self._of(sample, cause)
        if self.selected <= PROMPTED_ROWS:
            try:
                self.task.prompt(sample)
            # a plugin's prompt may raise anything and call sys.exit
            except (Exception, SystemExit) as error:
                at = self.file.document.place(("prompt",))  # findings name it
                message = message_of(error).removeprefix(f"{at.file}:{at.line}: ")
                yield self._at(("prompt",), message)

    def _over_all(self) -> Iterator[Finding]:
        keys = self.file.keys
        if not self.selected:
            unknown = (
                [label for label in keys.filter if label not in self.labels]
                if self.ids
                else []
            )
            lacks = "".join(
                f"; no sample has the label {x!r}{did_you_mean(x, self.labels)}"
                for x in unknown
            )
            cause = f"no sample is left{lacks}" if self.ids else "there are no samples"
            yield self._at(("filter",), cause)
            return
        named = [("filter", label) for label in keys.filter] + [
            ("breakdown", label) for label in keys.breakdown
        ]
        named += [("prompt_fields", label) for label in keys.prompt_fields]
        named += [("cluster_key", keys.cluster_key)] if keys.cluster_key else []
        for key, label in named:
            if label not in self.labels:
                message = (
                    "no sample has the label "
                    f"{label!r}{did_you_mean(label, self.labels)}"
                )
                yield self._at((key,), message)

    def _note_labels(self, sample: Sample) -> None:
        keys = self.file.keys
        for label in (*keys.breakdown, *filter(None, (keys.cluster_key,))):
            if sample.metadata.get(label) is None:
                instead = (
                    written_instead(label, sample.metadata)
                    if label not in sample.metadata
                    else ""
                )
                self.unlabelled.setdefault((label, instead), []).append(sample.id)

    def _unlabelled(self) -> Iterator[Finding]:
        """Labels that only some samples have: the others are in no slice."""
        for (label, instead), samples in self.unlabelled.items():
            if label not in self.labels:
                continue  # a label that no sample has is reported by _over_all
            yield Finding(
                "bad_sample",
                Subject(self.task.name, sample=samples[0]),
                len(samples),
                self.selected,
                cause=f"without the label {label!r}{instead}",
            )

    def _texts(self, sample: Sample) -> Iterator[Finding]:
        """Texts that nobody means as texts, once for each label."""
        for label, value in sample.metadata.items():
            fault = _not_a_text(value)
            if not fault or label in self.odd_texts:
                continue
            self.odd_texts.add(label)
            advice = (
                f'write "{{{{ {label} | literal }}}}" in columns, or a list in the data'
                if fault == _WRITTEN_LIST
                else "name its column in dataset_kwargs, as media_columns or media"
            )
            cause = f"the label {label!r} is {fault}; {advice}"
            yield self._of(sample, cause, "warning")
        for reference in sample.references:
            if _is_list_of_python(reference.text) and "" not in self.odd_texts:
                self.odd_texts.add("")
                cause = (
                    f"the reference is {_WRITTEN_LIST}; write references: "
                    '"{{ COLUMN | literal }}" in columns, or a list in the data'
                )
                yield self._of(sample, cause, "warning")

    def _modalities(self, sample: Sample) -> Iterator[Finding]:
        if self.task.input_modalities and self.task.selected(sample):
            kinds = {
                part.kind
                for message in sample.input
                for part in message.content.parts
                if not part.dangling
            }
            for kind in sorted(kinds - set(self.task.input_modalities)):
                cause = f"it holds {kind}, which input_modalities leaves out"
                yield self._of(sample, cause)
        if isinstance(self.task.wanted, SampleKinds):
            try:
                self.task.wanted(sample)
            except UsageError as error:
                fault = str(error).removeprefix(
                    f"task {self.file.name!r}, sample {sample.id!r}: "
                )
                yield self._of(sample, fault)

    def _answers(self, sample: Sample) -> Iterator[Finding]:
        try:
            wanted = set(self.task.wanted(sample))
        except UsageError:
            return  # reported by the check of the modalities
        if "text" in wanted:
            wanted.add("code")  # travels as text
        held = {
            part.kind for reference in sample.references for part in reference.parts
        } - {"reasoning"}
        for kind in sorted(held - wanted):
            cause = f"a reference holds {kind}, which output_modalities leaves out"
            yield self._of(sample, cause, "warning")

    def _media(self, sample: Sample) -> Iterator[Finding]:
        for part in (part for content in sample.contents for part in content.parts):
            if part.media is None or (part.kind, part.media.path) in self.media:
                continue
            if part.media.path is not None:
                self.media.add((part.kind, part.media.path))
            fault = medium_fault(part, part.media, self.look)
            if fault:
                yield self._of(sample, fault)
            elif any(part in message.content.parts for message in sample.input):
                self._note_format(part, part.media)

    def _note_format(self, part: Part, media: Media) -> None:
        """Count a medium of a prompt that most servers get in another format."""
        usual = USUAL_FORMATS.get(part.kind)
        if usual is None or media.mime in usual or encoding_fault(part.kind, media):
            return
        self.reencoded[f"{media.mime} as {ENCODED_AS[part.kind]}"] += 1

    def _references(self, sample: Sample) -> Iterator[Finding]:
        trial = Trial(sample, output=Interleaved((text_part("probe"),)))
        for metric in self.task.metrics:
            if reason := _unscored(metric, trial):
                cause = f"{metric.name} needs a reference: {reason}"
                yield self._of(sample, cause)

    def _of(self, sample: Sample, cause: str, severity: Severity = "error") -> Finding:
        subject = Subject(self.task.name, sample=sample.id)
        return Finding("bad_sample", subject, cause=cause, severity=severity)

    def _at(self, path: KeyPath, cause: str) -> Finding:
        subject = self.file.subject_at(path)
        return Finding("task_file", subject, cause=cause, severity="error")


def _not_a_text(value: Any) -> str:
    """What a label is in place of a text; empty for what may be one."""
    if not isinstance(value, str):
        return ""
    if _is_list_of_python(value) or _is_list_of_json(value):
        return _WRITTEN_LIST
    kind = medium_inside(value)
    return f"a medium ({kind}) as base64" if kind else ""


def _is_list_of_python(text: str) -> bool:
    """Whether a text is a list or a mapping as Python writes it, and not JSON, which
    answers may have to be."""
    if text.strip()[:1] not in ("[", "{"):
        return False
    if _json_of(text) is not None:
        return False
    try:
        return isinstance(literal(text), (list, dict))
    except TemplateRuntimeError:
        return False


def _is_list_of_json(text: str) -> bool:
    if not text.strip().startswith("["):
        return False
    return isinstance(_json_of(text), list)


def _json_of(text: str) -> Any:
    """What a text is as JSON; None where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _unscored(metric: TaskMetric, trial: Trial) -> str:
    """Why a metric cannot score a trial; empty when it can, or when it is not tried."""
    if metric.unavailable or metric.bound.metric.judged or metric.bound.metric.derived:
        return ""
    scores: Iterable[Any] = score_one(metric.bound, trial).values()
    return next((score.reason for score in scores if score.status == "unscored"), "")
