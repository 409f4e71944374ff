"""The jobs of a run: its trials in order of task, sample and repeat."""

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
"""Number of samples of a task that are inspected before any call is sent."""


@dataclass(frozen=True, slots=True)
class TrialJob:
    """A trial to run.

    ``position`` is the index of the task in the run. ``index`` is the index of the
    sample in its data set.
    """

    position: int
    task: Task
    index: int
    sample: Sample
    sample_line: bytes
    repeat: int

    @property
    def number(self) -> int:
        """The number of the trial among those of its task, in data set order."""
        return self.index * self.task.repeats + self.repeat


@dataclass(frozen=True, slots=True)
class ChosenTrials:
    """The trials of one task in this run: each taken sample with all its repeats."""

    repeats: int
    taken: Collection[int]

    def __call__(self, index: int, repeat: int) -> bool:
        return repeat < self.repeats and index in self.taken


class JobQueue:
    """The jobs of a run. Iteration reads one sample at a time and fills ``chosen``."""

    def __init__(
        self, tasks: tuple[Task, ...], options: RunOptions, media: MediaStore
    ) -> None:
        _check_draw(options)
        self.faults: dict[str, DataFault] = {}
        """Why data cannot be read further, by task; filled by ``readable``."""
        self.tasks = tasks
        self._media = media
        self._shard = options.shard
        self._choices = [SampleChoice(task, options) for task in tasks]
        self.chosen: dict[str, ChosenTrials] = {}
        """The chosen trials by task; filled while jobs are read."""
        for choice in self._choices:
            task = choice.task
            self.chosen[task.name] = ChosenTrials(task.repeats, choice.taken)
        unknown = set(options.samples) - {task.name for task in tasks}
        if unknown:
            names = ", ".join(sorted(unknown))
            raise UsageError(
                f"--samples names tasks that this run does not have: {names}",
                name=names,
            )

    def __iter__(self) -> Iterator[TrialJob]:
        for position in range(len(self.tasks)):
            yield from self._jobs(position)

    def readable(self) -> Iterator[TrialJob]:
        """Yields the jobs of each task up to the first unreadable row.

        The row is recorded in ``faults``. Raises StorageError, since it affects every
        task.
        """
        for position, task in enumerate(self.tasks):
            job_count = 0
            for item in readable(self._jobs(position)):
                if not isinstance(item, LoaderFailure):
                    job_count += 1
                    yield item
                elif isinstance(item.error, StorageError):
                    raise item.error
                else:
                    self.faults[task.name] = DataFault(item.error, job_count)

    def _jobs(self, position: int) -> Iterator[TrialJob]:
        task = self.tasks[position]
        for index, raw_sample in self.samples(position):
            sample, line = self._written(index, raw_sample)
            for repeat in range(task.repeats):
                yield TrialJob(position, task, index, sample, line, repeat)

    def _written(self, index: int, sample: Sample) -> tuple[Sample, bytes]:
        """Returns the sample with its JSON line.

        The sample becomes a bad sample if one of its media cannot be read, or if the
        sample cannot be written as JSON.
        """
        try:
            return sample, self._line(sample)
        except (ContentError, MissingDataError) as error:
            bad = without_content(sample, f"sample {index}: {error}")
        except (TypeError, ValueError, RecursionError) as error:
            bad = without_content(
                replace(sample, metadata={}),
                f"sample {index} cannot be written as JSON: {error}",
            )
        return bad, self._line(bad)

    def samples(self, position: int) -> Iterator[tuple[int, Sample]]:
        """Yields the chosen samples of a task with their indices in the data set.

        With a shard, only its samples are included. Raises UsageError for a repeated
        id. A bad sample with a repeated id gets a new id instead.
        """
        shard = self._shard
        ids: set[str] = set()
        for place, (index, chosen_sample) in enumerate(self._choices[position]):
            sample = chosen_sample
            if not sample.fault:
                if sample.id in ids:
                    raise UsageError(
                        f"{self.tasks[position].name}: sample {index} repeats the id "
                        f"{sample.id!r}. Ids must be unique; mmeval check lists all "
                        "repeated ids"
                    )
                ids.add(sample.id)
            elif sample.id in ids:  # no call has this id
                sample = replace(sample, id=f"{sample.id} (sample {index})")
            if shard is None or shard.takes(place):
                yield index, sample

    def _line(self, sample: Sample) -> bytes:
        """Returns the sample as a JSON line.

        Media in memory, for example from a parquet column, are stored, so that the
        sample can be read again.
        """
        for content in sample.contents:
            for part in content.parts:
                if part.media is not None and part.media.path is None:
                    self._media.put(part.media)
        return sample.to_line()

    def size(self, position: int) -> int:
        """Returns the number of samples of a task in this run.

        Until the task's filter is applied, the number is an upper limit.
        """
        size = self._choices[position].size
        return size if self._shard is None else self._shard.share(size)

    def total(self) -> int:
        """Returns the number of trials, or an upper limit until filters are applied."""
        return sum(
            self.size(position) * task.repeats
            for position, task in enumerate(self.tasks)
        )

    @property
    def counted(self) -> bool:
        """True if ``total`` is exact."""
        return all(choice.counted for choice in self._choices)

    def check(self) -> None:
        """Raises UsageError if a task has no sample left, or if no sample can be asked.

        Reads the data up to the first chosen sample that can be asked, or to the end if
        samples are drawn at random.
        """
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
                f"no sample can be asked; the first is {first}. Correct the data"
            )

    def doubts(self, *, scoring: bool) -> Iterator[Finding]:
        """Yields findings for too many rows, and for samples that cannot be scored.

        Only the first samples are inspected. A sample may lack a label or a rubric that
        scoring needs. Bad samples are reported when they are read.
        """
        for choice in self._choices:
            task = choice.task
            yield from more_rows(task, len(choice.dataset))
            askable = _askable(choice)
            if scoring and askable:
                yield from _missing_labels(task, askable)
                yield from _never_scored(task, askable)

    def fewer(self) -> Iterator[Finding]:
        """Yields findings for tasks whose data have fewer samples than expected.

        A task whose samples were not counted has no finding.
        """
        for choice in self._choices:
            rows = len(choice.dataset)
            yield from fewer_samples(choice.task, rows, choice.kept)

    def first(self, task: Task) -> list[Sample]:
        """Returns the first samples of a task that can be asked, chosen or not."""
        for choice in self._choices:
            if choice.task is task:
                return _askable(choice)
        return []

    def ahead(self) -> Iterator[TrialJob]:
        """Yields jobs for the first chosen samples of each task, of any shard."""
        for position, choice in enumerate(self._choices):
            for sample in choice.ahead(INSPECTED_SAMPLES):
                yield TrialJob(position, choice.task, 0, sample, b"", 0)

    def dataset(self, position: int) -> Dataset:
        """Returns a task's data set, which is opened only once."""
        return self._choices[position].dataset

    def data(self) -> dict[str, dict[str, Any]]:
        """Returns the record of each task's data: fingerprint, rows, source, subset."""
        records = {}
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
            records[task.name] = record
        return records

    def unfinished(self) -> dict[str, UnfinishedTask]:
        """Returns the progress of each task whose data cannot be read to the end."""
        unfinished = {}
        for position, task in enumerate(self.tasks):
            fault = self.faults.get(task.name)
            if fault is None:
                continue
            expected = None
            if self._choices[position].counted:
                expected = self.size(position) * task.repeats
            unfinished[task.name] = UnfinishedTask(fault.made, expected)
        return unfinished

    def subsets(self) -> dict[str, Subset]:
        """Returns the subset of samples taken so far, by task.

        Tasks that are taken as a whole are left out.
        """
        subsets = {}
        for choice in self._choices:
            subset = choice.subset
            if subset is not None:
                subsets[choice.task.name] = subset
        return subsets


def _askable(choice: SampleChoice) -> list[Sample]:
    return [sample for sample in choice.first(INSPECTED_SAMPLES) if not sample.fault]


def _missing_labels(task: Task, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yields findings for labels of the task file that some or all samples lack."""
    keys = [("breakdown", label) for label in task.breakdown]
    if task.cluster_key:
        keys.append(("cluster_key", task.cluster_key))
    labels_in_data = {label for sample in samples for label in sample.metadata}
    for key, label in keys:
        without = [sample for sample in samples if sample.metadata.get(label) is None]
        if not without:
            continue
        subject = Subject(task.name)
        hint = did_you_mean(label, labels_in_data)
        if label in labels_in_data:
            labels = without[0].metadata
            hint = "" if label in labels else written_instead(label, labels)
            subject = Subject(task.name, sample=without[0].id)
        yield Finding(
            "task_file" if label not in labels_in_data else "bad_sample",
            subject,
            len(without),
            len(samples),
            cause=f"without the label {label!r} of {key}{hint}",
        )


def _never_scored(task: Task, samples: Sequence[Sample]) -> Iterator[Finding]:
    """Yields findings for metrics that cannot score an answer to any of the samples."""
    for metric in task.metrics:
        if metric.unavailable or metric.bound.metric.check is None:
            continue
        faults = [metric.bound.sample_fault(sample) for sample in samples]
        if all(faults):
            count = len(samples)
            subject = Subject(task.name, metric.name)
            yield Finding("unscored", subject, count, count, cause=faults[0])


def _check_draw(options: RunOptions) -> None:
    """Raises UsageError for flags of a random draw that have no effect."""
    flags = {
        "--sample_shuffle": options.sample_shuffle is not None,
        "--stratify": bool(options.stratify),
    }
    for flag in (name for name, is_given in flags.items() if is_given):
        if options.samples:
            raise UsageError(
                f"{flag} and --samples exclude each other; leave one out", name=flag
            )
        if options.limit is None:
            raise UsageError(
                f"{flag} needs --limit; without it all samples are asked in order",
                name=flag,
            )


class DataFault(NamedTuple):
    """The error that stopped the reading of a task's data.

    ``made`` is the number of trials made before the error.
    """

    error: BaseException
    made: int

    @property
    def exit_code(self) -> int:
        if isinstance(self.error, MmevalError):
            return self.error.exit_code
        return EXIT_UNEXPECTED
