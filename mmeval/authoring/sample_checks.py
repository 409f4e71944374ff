"""The checks of ``mmeval validate`` that read the samples of a task."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmeval.authoring.finding import Severity, TaskFinding, finding_at
from mmeval.backend.reencoding import ENCODED_AS, USUAL_FORMATS, encoding_fault
from mmeval.content.embedded import medium_inside
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, text_part
from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.loaders.interleaved import InterleavedDataset, doubtful_labels
from mmeval.decode.check import MediaLook, medium_problem
from mmeval.decode.template import literal
from mmeval.errors import (
    Caught,
    NotFetchedError,
    UsageError,
    did_you_mean,
    message_of,
    written_instead,
)
from mmeval.metric.apply import score_one
from mmeval.records.sample import Sample
from mmeval.records.trial import Trial
from mmeval.system.yaml_document import KeyPath
from mmeval.task.data import TaskData
from mmeval.task.file import TaskFile
from mmeval.task.task import SampleKinds, Task, TaskMetric
from mmeval.wording import counted

log = logging.getLogger(__name__)

PROMPTED_ROWS = 3
MAX_REPEATED = 5
"""Findings of one check about one task that are reported in full; the others are
counted."""
MAX_DAMAGED = 10
"""As :data:`MAX_REPEATED`, for media that cannot be decoded and rows that cannot be
asked."""

_WRITTEN_LIST = "a list or a mapping that is written as a text"
BUNDLED_TAGS = "bundled_tags"
"""The label that lists tags without a medium of their own, as their file belongs to
another tag: the texture of a mesh."""


@dataclass
class SampleChecks:
    """The checks of one task that read samples, in one pass over its first ``rows``.

    After ``findings``, ``selected`` counts the samples that the task keeps, ``media``
    are the files of their media, and ``loose_media`` counts media without a file of
    their own, such as those in a column of parquet.
    """

    file: TaskFile
    task: Task
    rows: int | None
    look: MediaLook = field(default_factory=MediaLook)
    found: Counter[tuple[str, Severity]] = field(default_factory=Counter)
    ids: set[str] = field(default_factory=set)
    labels: set[str] = field(default_factory=set)
    odd_texts: set[str] = field(default_factory=set)
    """Labels with a text that nobody means as one; empty for references."""
    media: set[Path] = field(default_factory=set)
    loose_media: int = 0
    reencoded: Counter[str] = field(default_factory=Counter)
    """Media of inputs in formats that most servers do not take, by what is sent."""
    selected: int = 0
    unlabelled: dict[str, list[str]] = field(default_factory=dict)
    """By label of slices or clusters, the places of samples without it, with the label
    that they have instead."""
    whole: bool = True
    rows_file: str = ""
    """The file of the rows, to stand before a row number; empty where there are
    several, or none."""
    absent: bool = False
    """Whether the data are missing on this machine, so that no sample was checked."""

    def findings(self) -> Iterator[TaskFinding]:
        with Caught() as failure:
            dataset = self.task.dataset()
            length = len(dataset)
        if failure:
            self.absent = isinstance(failure.error, NotFetchedError)
            if self.absent:
                yield self._at(
                    ("dataset_path",),
                    "dataset",
                    f"no row was checked: {failure.error}",
                    "warning",
                )
                return
            # findings name it
            place = (
                self.task.dataset.place
                if isinstance(self.task.dataset, TaskData)
                else ""
            )
            yield self._at(
                ("dataset_path",),
                "dataset",
                message_of(failure.error).removeprefix(f"{place}: "),
            )
            return
        written = isinstance(dataset, InterleavedDataset)
        if isinstance(dataset, InterleavedDataset) and len(dataset.files) == 1:
            self.rows_file = f"{dataset.files[0]}: "
        for finding in self._all(rows_of(dataset), written=written):
            kind = (finding.check, finding.severity)
            self.found[kind] += 1
            if self.found[kind] <= _most_shown(finding.check):
                yield finding
            else:
                log.debug("%s", finding)
        for (name, severity), count in self.found.items():
            if (more := count - _most_shown(name)) > 0:
                message = (
                    f"{counted(more, 'more finding')} of this kind (--verbosity DEBUG "
                    "names them)"
                )
                yield self._at((), name, message, severity)
        self.whole = self.whole and (self.rows is None or self.rows >= length)
        if self.whole:
            yield from self._over_all()
        yield from self._unlabelled()

    def _all(
        self, samples: Iterator[Sample], *, written: bool
    ) -> Iterator[TaskFinding]:
        """The findings of each sample; ``written`` for rows of the documented
        schema."""
        for number in range(1, (self.rows or 10**12) + 1):
            with Caught() as failure:  # of the loader, whose iterator is spent then
                sample = next(samples, None)
            if failure:
                self.whole = False
                yield self._at(
                    (),
                    "rows",
                    f"row {number} and those after it cannot be read: "
                    f"{message_of(failure.error)}",
                )
            if failure or sample is None:
                return
            if sample.fault:  # it cannot be asked, and has nothing else to check
                self.whole = False
                yield self._at((), "rows", sample.fault)
                self.labels.update(sample.metadata)
                self.selected += self.task.selected(sample)
                continue
            for label, advice in doubtful_labels(sample) if written else ():
                message = (
                    f'{self.rows_file}row {number}: the key "{label}" is taken as a '
                    f"label; {advice}"
                )
                yield self._at((), "keys", message, "warning")
            yield from self._tags(sample, number)
            yield from self._texts(sample, number)
            yield from self._of_sample(sample, number)

    def _of_sample(self, sample: Sample, number: int) -> Iterator[TaskFinding]:
        if not sample.id:
            yield self._at((), "ids", "a sample has an empty id")
        elif sample.id in self.ids:
            yield self._at((), "ids", f"the id {sample.id!r} stands more than once")
        self.ids.add(sample.id)
        yield from self._modalities(sample, number)
        yield from self._media(sample, number)
        self.labels.update(sample.metadata)
        if not self.task.selected(sample):
            return
        self.selected += 1
        self._note_labels(sample, number)
        yield from self._answers(sample)
        if not sample.references:
            yield from self._references(sample)
        for metric in self.task.metrics:
            if fault := metric.bound.sample_fault(sample):
                where = self._where(sample, number)
                message = (
                    f"{where}: no answer to it can be scored by "
                    f"{metric.bound.name!r}: {fault}"
                )
                yield self._at(("metric_list",), "rubrics", message)
        if self.selected <= PROMPTED_ROWS:
            with Caught() as failure:
                self.task.prompt(sample)
            if failure:
                at = self.file.document.place(("prompt",))  # findings name it
                message = message_of(failure.error).removeprefix(
                    f"{at.file}:{at.line}: "
                )
                yield self._at(("prompt",), "prompt", message)

    def _over_all(self) -> Iterator[TaskFinding]:
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
            yield self._at(
                ("filter",),
                "dataset",
                f"no sample is left{lacks}" if self.ids else "there are no samples",
            )
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
                yield self._at((key,), "labels", message)

    def _note_labels(self, sample: Sample, number: int) -> None:
        keys = self.file.keys
        for label in (*keys.breakdown, *filter(None, (keys.cluster_key,))):
            if sample.metadata.get(label) is None:
                instead = (
                    written_instead(label, sample.metadata)
                    if label not in sample.metadata
                    else ""
                )
                places = self.unlabelled.setdefault(label, [])
                places.append(
                    f"{self._where(sample, number)}{instead}"
                    if len(places) < MAX_REPEATED
                    else ""
                )

    def _unlabelled(self) -> Iterator[TaskFinding]:
        """Labels that only some samples have: the others are in no slice."""
        keys = self.file.keys
        named = [("breakdown", label) for label in keys.breakdown]
        named += [("cluster_key", keys.cluster_key)] if keys.cluster_key else []
        for key, label in named:
            places = self.unlabelled.get(label, [])
            if not places or label not in self.labels:
                continue  # a label that no sample has is reported by _over_all
            shown = places[:MAX_REPEATED]
            more = (
                f"; and {len(places) - len(shown):,} more"
                if len(places) > len(shown)
                else ""
            )
            lack = "lacks" if len(places) == 1 else "lack"
            message = (
                f"{len(places):,} of {self.selected:,} samples {lack} the label "
                f"{label!r}"
            )
            yield self._at(
                (key,), "labels", f"{message}: {'; '.join(shown)}{more}", "warning"
            )

    def _where(self, sample: Sample, number: int) -> str:
        return f"{self.rows_file}row {number}, sample {sample.id!r}"

    def _texts(self, sample: Sample, number: int) -> Iterator[TaskFinding]:
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
            where = self._where(sample, number)
            message = f"{where}: the label {label!r} is {fault}; {advice}"
            yield self._at((), "texts", message, "warning")
        for reference in sample.references:
            if _is_list_of_python(reference.text) and "" not in self.odd_texts:
                self.odd_texts.add("")
                where = self._where(sample, number)
                message = (
                    f"{where}: the reference is {_WRITTEN_LIST}; write references: "
                    '"{{ COLUMN | literal }}" in columns, or a list in the data'
                )
                yield self._at((), "texts", message, "warning")

    def _tags(self, sample: Sample, number: int) -> Iterator[TaskFinding]:
        bundled = sample.metadata.get(BUNDLED_TAGS, ())
        for part in (
            part
            for message in sample.input
            for part in message.content.parts
            if part.dangling
        ):
            if part.label in bundled or part.raw.endswith(":"):  # its caption follows
                continue
            message = (
                f"row {number}, sample {sample.id!r}: the tag {part.raw} in the input "
                "has no medium"
            )
            yield self._at((), "tags", message, "warning")

    def _modalities(self, sample: Sample, number: int) -> Iterator[TaskFinding]:
        if self.task.input_modalities and self.task.selected(sample):
            kinds = {
                part.kind
                for message in sample.input
                for part in message.content.parts
                if not part.dangling
            }
            for kind in sorted(kinds - set(self.task.input_modalities)):
                message = (
                    f"sample {sample.id!r} holds {kind}, which input_modalities "
                    "leaves out"
                )
                yield self._at(("input_modalities",), "modalities", message)
        if isinstance(self.task.wanted, SampleKinds):
            try:
                self.task.wanted(sample)
            except UsageError as error:
                fault = str(error).removeprefix(
                    f"task {self.file.name!r}, sample {sample.id!r}: "
                )
                yield self._at(
                    ("output_modalities",),
                    "modalities",
                    f"{self._where(sample, number)}: {fault}",
                )

    def _answers(self, sample: Sample) -> Iterator[TaskFinding]:
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
            message = (
                f"a reference of sample {sample.id!r} holds {kind}, which "
                "output_modalities leaves out"
            )
            yield self._at(("output_modalities",), "answers", message, "warning")

    def _media(self, sample: Sample, number: int) -> Iterator[TaskFinding]:
        for part in (part for content in sample.contents for part in content.parts):
            if part.media is None or (
                part.media.path is not None and part.media.path in self.media
            ):
                continue
            if part.media.path is None:
                self.loose_media += 1
            else:
                self.media.add(part.media.path)
            problem = medium_problem(part, part.media)
            if not problem and any(part in one.content.parts for one in sample.input):
                self._note_format(part, part.media)
            if problem:
                yield self._at(
                    (),
                    "media",
                    f"sample {sample.id!r}, {part.label or part.kind}: {problem}",
                )
            elif part.kind != "code" and (fault := self.look.fault(part.media)):
                message = (
                    f"row {number}, sample {sample.id!r}, {part.label or part.kind}: "
                    f"{fault}"
                )
                yield self._at((), "decoding", message)

    def _note_format(self, part: Part, media: Media) -> None:
        """Count a medium of a prompt that most servers get in another format."""
        usual = USUAL_FORMATS.get(part.kind)
        if usual is None or media.mime in usual or encoding_fault(part.kind, media):
            return
        self.reencoded[f"{media.mime} as {ENCODED_AS[part.kind]}"] += 1

    def _references(self, sample: Sample) -> Iterator[TaskFinding]:
        trial = Trial(sample, output=Interleaved((text_part("probe"),)))
        for metric in self.task.metrics:
            if reason := _unscored(metric, trial):
                message = (
                    f"sample {sample.id!r} has no reference, which "
                    f"{metric.bound.name!r} needs: {reason}"
                )
                yield self._at(("metric_list",), "references", message)

    def _at(
        self, path: KeyPath, name: str, message: str, severity: Severity = "error"
    ) -> TaskFinding:
        path = path if path and path in self.file.document.places else ()
        return finding_at(self.file, path, name, message, severity)


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
    with Caught() as failure:
        json.loads(text)
    if not failure:
        return False
    with Caught():
        return isinstance(literal(text), (list, dict))
    return False


def _is_list_of_json(text: str) -> bool:
    if not text.strip().startswith("["):
        return False
    with Caught():
        return isinstance(json.loads(text), list)
    return False


def _most_shown(name: str) -> int:
    return MAX_DAMAGED if name in ("decoding", "rows") else MAX_REPEATED


def _unscored(metric: TaskMetric, trial: Trial) -> str:
    """Why a metric cannot score a trial; empty when it can, or when it is not tried."""
    if metric.unavailable or metric.bound.metric.judged or metric.bound.metric.derived:
        return ""
    scores: Iterable[Any] = score_one(metric.bound, trial).values()
    return next((score.reason for score in scores if score.status == "unscored"), "")
