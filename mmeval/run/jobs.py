"""Jobs: which samples of which tasks are asked, how often, in which order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from mmeval.dataset.bad_sample import without_content
from mmeval.dataset.contract import Dataset
from mmeval.dataset.readable import LoaderFailure, readable
from mmeval.dataset.sampling import Subset
from mmeval.errors import (
    EXIT_UNEXPECTED,
    ContentError,
    MissingDataError,
    MmevalError,
    StorageError,
    UsageError,
    did_you_mean,
    written_instead,
)
from mmeval.findings.finding import Finding, Subject
from mmeval.records.sample import Sample
from mmeval.run.data_size import fewer_samples, more_rows
from mmeval.run.options import RunOptions, UnfinishedTask
from mmeval.run.sample_choice import SampleChoice
from mmeval.store.media_store import MediaStore
from mmeval.task.task import Task

INSPECTED_SAMPLES = 20
"""Samples of a task that are inspected before anything is sent."""


@dataclass(frozen=True, slots=True)
class TrialJob:
    """One trial to make. ``position`` is the task's place in the run, ``index`` the
    sample's in its data set."""

    position: int
    task: Task
    index: int
    sample: Sample
    sample_line: bytes
    repeat: int


@dataclass(frozen=True, slots=True)
class ChosenTrials:
    """One task's trials in this run: the samples that were taken, times the repeats."""

    repeats: int
    taken: Collection[int]

    def __call__(self, index: int, repeat: int) -> bool:
        return repeat < self.repeats and index in self.taken


class JobQueue:
    """The jobs of a run. Iterating reads one sample at a time and fills ``chosen``."""

    def __init__(
        self, tasks: tuple[Task, ...], options: RunOptions, media: MediaStore
    ) -> None:
        _check_draw(options)
        self.faults: dict[str, DataFault] = {}
        """By task, why its data could not be read on, as far as ``readable`` has
        come."""
        self.tasks = tasks
        self._media = media
        self._shard = options.shard
        self._choices = [SampleChoice(task, options) for task in tasks]
        self.chosen: dict[str, ChosenTrials] = {}
        """By task, its trials; they fill up while the jobs are read."""
        for choice in self._choices:
            task = choice.task
            self.chosen[task.name] = ChosenTrials(task.repeats, choice.taken)
        unknown = set(options.samples) - {task.name for task in tasks}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise UsageError(
                f"--samples names tasks that are not run: {names}", name=names
            )

    def __iter__(self) -> Iterator[TrialJob]:
        for position in range(len(self.tasks)):
            yield from self._jobs(position)

    def readable(self) -> Iterator[TrialJob]:
        """Each task's jobs as far as its data can be read. Why not further is in
        ``faults``. Raises StorageError, which concerns every task."""
        for position, task in enumerate(self.tasks):
            made = 0
            for item in readable(self._jobs(position)):
                if not isinstance(item, LoaderFailure):
                    made += 1
                    yield item
                elif isinstance(item.error, StorageError):
                    raise item.error
                else:
                    self.faults[task.name] = DataFault(item.error, made)

    def _jobs(self, position: int) -> Iterator[TrialJob]:
        task = self.tasks[position]
        for index, found in self.samples(position):
            sample, line = self._written(index, found)
            for repeat in range(task.repeats):
                yield TrialJob(position, task, index, sample, line, repeat)

    def _written(self, index: int, sample: Sample) -> tuple[Sample, bytes]:
        """The sample with its line; a bad one if a medium cannot be read, or JSON
        cannot hold it."""
        try:
            return sample, self._line(sample)
        except (ContentError, MissingDataError) as error:
            bad = without_content(sample, f"sample {index}: {error}")
        except (TypeError, ValueError, RecursionError) as error:
            bad = without_content(
                replace(sample, metadata={}),
                f"sample {index} holds what JSON cannot: {error}",
            )
        return bad, self._line(bad)

    def samples(self, position: int) -> Iterator[tuple[int, Sample]]:
        """The chosen samples of a task, each with its place in the data set; those of
        the shard, where it is one. Raises UsageError for an id that stands twice; one
        that cannot be asked is given another then."""
        shard = self._shard
        ids: set[str] = set()
        for place, (index, found) in enumerate(self._choices[position]):
            sample = found
            if not sample.fault:
                if sample.id in ids:
                    raise UsageError(
                        f"{self.tasks[position].name}: sample {index} has the id "
                        f"{sample.id!r} of an earlier one; ids "
                        "must be unique (mmeval check lists them)"
                    )
                ids.add(sample.id)
            elif sample.id in ids:  # no call is named by it
                sample = replace(sample, id=f"{sample.id} (sample {index})")
            if shard is None or shard.takes(place):
                yield index, sample

    def _line(self, sample: Sample) -> bytes:
        """The sample as it is recorded and scored. Media in memory (a parquet column)
        are stored, to read the sample again."""
        for content in sample.contents:
            for part in content.parts:
                if part.media is not None and part.media.path is None:
                    self._media.put(part.media)
        return sample.to_line()

    def size(self, position: int) -> int:
        """How many samples of a task are asked; an upper limit before a filter is
        run."""
        size = self._choices[position].size
        return size if self._shard is None else self._shard.share(size)

    def total(self) -> int:
        """How many trials there will be; an upper limit before a filter is applied."""
        return sum(
            self.size(position) * task.repeats
            for position, task in enumerate(self.tasks)
        )

    @property
    def counted(self) -> bool:
        """Whether ``total`` is exact."""
        return all(choice.counted for choice in self._choices)

    def check(self) -> None:
        """Raises UsageError if a task has no sample left, or no sample can be asked.
        Opens the data, and reads them up to the first chosen sample that can be asked;
        where samples are drawn, all."""
        for choice in self._choices:
            choice.check()
        first = ""
        for choice in self._choices:
            fault = choice.fault()
            if not fault:
                return
            first = first or f"{choice.task.name}: {fault}"
        if first:
            raise UsageError(
                f"not a single sample can be asked; the first is {first}. Correct the "
                "data"
            )

    def doubts(self, *, scoring: bool) -> Iterator[Finding]:
        """Data of another size than the task file states, and of the first samples
        those without what scoring needs: a label, a rubric. Bad samples are reported
        when they are read."""
        for choice in self._choices:
            task = choice.task
            yield from more_rows(task, len(choice.dataset))
            sound = _askable(choice)
            if scoring and sound:
                yield from _labels_missing(task, sound)
                yield from _never_scored(task, sound)

    def fewer(self) -> Iterator[Finding]:
        """The tasks whose data, as far as counted, hold less than their files state."""
        for choice in self._choices:
            rows = len(choice.dataset)
            yield from fewer_samples(choice.task, rows, choice.kept)

    def first(self, task: Task) -> list[Sample]:
        """The first samples of a task that can be asked, chosen or not."""
        for choice in self._choices:
            if choice.task is task:
                return _askable(choice)
        return []

    def ahead(self) -> Iterator[TrialJob]:
        """The first samples of each task, whether or not they are of this shard."""
        for position, choice in enumerate(self._choices):
            for sample in choice.ahead(INSPECTED_SAMPLES):
                yield TrialJob(position, choice.task, 0, sample, b"", 0)

    def dataset(self, position: int) -> Dataset:
        """A task's data set, opened once."""
        return self._choices[position].dataset

    def data(self) -> dict[str, dict[str, Any]]:
        """By task, what is recorded of its data: fingerprint, rows, source, sample
        choice."""
        found = {}
        for choice in self._choices:
            task, dataset, subset = choice.task, choice.dataset, choice.subset
            record = {
                "fingerprint": dataset.fingerprint,
                "rows": len(dataset),
                **task.source(),
            }
            if choice.counted:
                record["trials"] = choice.size * task.repeats
            if subset is not None:
                record["subset"] = {"of": subset.of, "how": list(subset.how)}
            found[task.name] = record
        return found

    def unfinished(self) -> dict[str, UnfinishedTask]:
        """By task, how far it has come whose data could not be read to their end."""
        found = {}
        for position, task in enumerate(self.tasks):
            fault = self.faults.get(task.name)
            if fault is None:
                continue
            of = None
            if self._choices[position].counted:
                of = self.size(position) * task.repeats
            found[task.name] = UnfinishedTask(fault.made, of)
        return found

    def subsets(self) -> dict[str, Subset]:
        """By task, the part of its samples taken so far; tasks taken whole are left
        out."""
        found = {}
        for choice in self._choices:
            subset = choice.subset
            if subset is not None:
                found[choice.task.name] = subset
        return found


def _askable(choice: SampleChoice) -> list[Sample]:
    return [sample for sample in choice.first(INSPECTED_SAMPLES) if not sample.fault]


def _labels_missing(task: Task, samples: Sequence[Sample]) -> Iterator[Finding]:
    """The labels that the task file names, and some or all of the samples lack."""
    named = [("breakdown", label) for label in task.breakdown]
    if task.cluster_key:
        named.append(("cluster_key", task.cluster_key))
    known = {label for sample in samples for label in sample.metadata}
    for key, label in named:
        without = [one for one in samples if one.metadata.get(label) is None]
        if not without:
            continue
        subject = Subject(task.name)
        near = did_you_mean(label, known)
        if label in known:
            written = without[0].metadata
            near = "" if label in written else written_instead(label, written)
            subject = Subject(task.name, sample=without[0].id)
        yield Finding(
            "task_file" if label not in known else "bad_sample",
            subject,
            len(without),
            len(samples),
            cause=f"without the label {label!r} of {key}{near}",
        )


def _never_scored(task: Task, samples: Sequence[Sample]) -> Iterator[Finding]:
    """The metrics that can score no answer to any of the samples."""
    for metric in task.metrics:
        if metric.unavailable or metric.bound.metric.check is None:
            continue
        faults = [metric.bound.sample_fault(sample) for sample in samples]
        if all(faults):
            count = len(samples)
            subject = Subject(task.name, metric.name)
            yield Finding("unscored", subject, count, count, cause=faults[0])


def _check_draw(options: RunOptions) -> None:
    """Raises UsageError for a draw that would have no effect."""
    flags = {
        "--sample_shuffle": options.sample_shuffle is not None,
        "--stratify": bool(options.stratify),
    }
    for flag in (name for name, given in flags.items() if given):
        if options.samples:
            raise UsageError(
                f"{flag} and --samples exclude each other; leave one out", name=flag
            )
        if options.limit is None:
            raise UsageError(
                f"{flag} needs --limit: without it every sample is asked, in the "
                "order of the data set",
                name=flag,
            )


class DataFault(NamedTuple):
    """Why a task's data could not be read on, after so many trials, and its exit
    code."""

    error: BaseException
    made: int

    @property
    def exit_code(self) -> int:
        if isinstance(self.error, MmevalError):
            return self.error.exit_code
        return EXIT_UNEXPECTED
