"""Jobs: which samples of which tasks are put to the model, how often, in which order."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from mmeval.choice import Choice, Marks
from mmeval.datafault import DataFault
from mmeval.dataset import Dataset
from mmeval.errors import StorageError, UsageError, did_you_mean, told, written_instead
from mmeval.lines import to_line
from mmeval.mediastore import MediaStore
from mmeval.options import RunOptions, Unfinished
from mmeval.records import Sample, line_digest
from mmeval.sampling import Subset
from mmeval.task import Task
from mmeval.taskdata import TaskData

log = logging.getLogger(__name__)

LOOKED_AT = 20
"""So many samples of a task are looked at before anything is sent."""


@dataclass(frozen=True, slots=True)
class Job:
    """One trial to make. ``position`` is the task's place in the run, ``index`` the sample's in its data set."""

    position: int
    task: Task
    index: int
    sample: Sample
    sample_line: bytes
    repeat: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which trials of one task belong to this run: the samples that were taken, times the repeats."""

    repeats: int
    taken: Marks

    def __call__(self, index: int, repeat: int) -> bool:
        return repeat < self.repeats and index in self.taken


class Plan:
    """The jobs of a run. Iterating reads the data sets, one sample at a time; ``chosen`` fills up meanwhile."""

    def __init__(self, tasks: tuple[Task, ...], options: RunOptions, media: MediaStore) -> None:
        _check_draw(options)
        self.faults: dict[str, DataFault] = {}
        """By task, why its data could not be read on, as far as ``readable`` has come."""
        self.tasks, self._media = tasks, media
        self._choices = [Choice(task, options) for task in tasks]
        self.chosen = [Chosen(task.repeats, choice.taken) for task, choice in zip(tasks, self._choices, strict=True)]
        unknown = set(options.samples) - {task.name for task in tasks}
        if unknown:
            raise UsageError(f"--samples names tasks that are not run: {', '.join(sorted(unknown))}")

    def __iter__(self) -> Iterator[Job]:
        for position in range(len(self.tasks)):
            yield from self._jobs(position)

    def readable(self) -> Iterator[Job]:
        """The jobs of each task as far as its data can be read; why not further is warned of, and stands in
        ``faults``. Raises StorageError, which concerns every task."""
        for position, task in enumerate(self.tasks):
            made = 0
            try:
                for job in self._jobs(position):
                    made += 1
                    yield job
            except StorageError:
                raise
            except Exception as error:  # a loader may fail in any way
                if task.name not in self.faults:
                    said = "the data of %s cannot be read on: %s (what was asked of it is scored, other tasks go on)"
                    log.warning(said, task.name, told(error))
                self.faults[task.name] = DataFault(error, made)

    def _jobs(self, position: int) -> Iterator[Job]:
        task = self.tasks[position]
        for index, sample in self.samples(position):
            line = self._line(task, index, sample)
            for repeat in range(task.repeats):
                yield Job(position, task, index, sample, line, repeat)

    def samples(self, position: int) -> Iterator[tuple[int, Sample]]:
        """The chosen samples of a task, each with its place in the data set. Raises UsageError for an id that stands
        twice."""
        ids: set[int] = set()
        for index, sample in self._choices[position]:
            _refuse_twice(ids, self.tasks[position], index, sample)
            yield index, sample

    def _line(self, task: Task, index: int, sample: Sample) -> bytes:
        """The sample as it is recorded, scored and, where it has no media, recognised."""
        has_media = sample.has_media
        if has_media:
            _keep_loose_media(sample, self._media)
        try:
            line = to_line(sample.to_json())
        except (TypeError, ValueError) as error:
            raise UsageError(
                f"{task.name}: sample {index} ({sample.id!r}) holds what JSON cannot ({error}); mend its loader"
            ) from None
        if has_media:
            return line
        sample.__dict__["digest"] = line_digest(line)  # what the property would find, without writing the line again
        return line

    def size(self, position: int) -> int:
        """How many samples of a task are chosen; an upper limit where a filter has yet to be applied."""
        return self._choices[position].size

    def total(self) -> int:
        """How many trials there will be; an upper limit where a filter has yet to be applied."""
        return sum(choice.size * task.repeats for task, choice in zip(self.tasks, self._choices, strict=True))

    def check(self) -> None:
        """Raises UsageError for a task of which no sample is left. Opens the data; where a filter chooses, reads them
        up to the first sample that it keeps; where samples are drawn, reads them all."""
        for choice in self._choices:
            choice.check()

    def doubts(self, *, scoring: bool) -> Iterator[str]:
        """Where a task's data have another size than its file says, and what its first samples lack that it counts on,
        a label or a rubric, say."""
        for task, choice in zip(self.tasks, self._choices, strict=True):
            if amiss := choice.another_size:
                yield f"{task.name}: {amiss} (mmeval prepare {task.name}{_where(task)} looks at all of them)"
            yield from _doubts(task, choice, scoring=scoring)

    def dataset(self, position: int) -> Dataset:
        """A task's data set, opened once."""
        return self._choices[position].dataset

    def data(self) -> dict[str, dict[str, Any]]:
        """By task, what is recorded of its data: fingerprint, number of rows, where they come from, and how samples
        were chosen among them."""
        found = {}
        for task, choice in zip(self.tasks, self._choices, strict=True):
            dataset = choice.dataset
            found[task.name] = {"fingerprint": dataset.fingerprint, "rows": len(dataset), **task.source()}
            if choice.counted:
                found[task.name]["trials"] = choice.size * task.repeats
            if choice.subset is not None:
                found[task.name]["subset"] = {"of": choice.subset.of, "how": list(choice.subset.how)}
        return found

    def unfinished(self) -> dict[str, Unfinished]:
        """By task, how far it has come whose data could not be read to their end."""
        found = {}
        for task, choice in zip(self.tasks, self._choices, strict=True):
            if (fault := self.faults.get(task.name)) is not None:
                found[task.name] = Unfinished(fault.made, choice.size * task.repeats if choice.counted else None)
        return found

    def subsets(self) -> dict[str, Subset]:
        """By task, what part of its samples was taken so far; tasks that neither a flag nor their data narrowed are
        left out."""
        found = {task.name: choice.subset for task, choice in zip(self.tasks, self._choices, strict=True)}
        return {name: subset for name, subset in found.items() if subset is not None}


def _where(task: Task) -> str:
    """The flag that names the folder of a task's data, where one was given."""
    folder = task.dataset.data_dir if isinstance(task.dataset, TaskData) else None
    return "" if folder is None else f" --data_dir {shlex.quote(str(folder))}"


def _doubts(task: Task, choice: Choice, *, scoring: bool) -> Iterator[str]:
    named = [("breakdown", label) for label in task.breakdown]
    named += [("cluster_key", task.cluster_key)] if task.cluster_key else []
    checked = [metric.bound for metric in task.metrics if metric.bound.metric.check and not metric.unavailable]
    samples = choice.first(LOOKED_AT) if scoring and (named or checked) else []
    if not samples:
        return
    first, lack = ("the first sample", "lacks") if len(samples) == 1 else (f"the first {len(samples)} samples", "lack")
    labels = {label for sample in samples for label in sample.metadata}
    for key, label in named:
        if label not in labels:
            yield f"{task.name}: {key} names the label {label!r}, which {first} {lack}{did_you_mean(label, labels)}"
        elif lacking := [sample for sample in samples if sample.metadata.get(label) is None]:
            some = f"{len(lacking)} of {first}" if len(lacking) > 1 else f"sample {lacking[0].id!r}"
            effect = f", and {'are' if len(lacking) > 1 else 'is'} in no slice by it" if key == "breakdown" else ""
            instead = written_instead(label, lacking[0].metadata) if label not in lacking[0].metadata else ""
            yield f"{task.name}: {some} {'lack' if len(lacking) > 1 else 'lacks'} the label {label!r}{effect}{instead}"
    for bound in checked:
        faults = [bound.sample_fault(sample) for sample in samples]
        if all(faults):
            yield f"{task.name}: no answer to {first} can be scored by {bound.name}: {faults[0]}"


def _check_draw(options: RunOptions) -> None:
    """Raises UsageError for a draw that would have no effect."""
    flags = {"--sample_shuffle": options.sample_shuffle is not None, "--stratify": bool(options.stratify)}
    for flag in (name for name, given in flags.items() if given):
        if options.samples:
            raise UsageError(f"{flag} and --samples exclude each other; leave one out")
        if options.limit is None:
            raise UsageError(f"{flag} needs --limit: without it every sample is asked, in the order of the data set")


def _refuse_twice(ids: set[int], task: Task, index: int, sample: Sample) -> None:
    """Calls are named by their sample's id. The ids are held as 64-bit hashes, to stay small."""
    mark = int.from_bytes(blake2b(sample.id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    if mark in ids:
        raise UsageError(
            f"{task.name}: sample {index} has the id {sample.id!r} of an earlier one; ids must be unique "
            "(mmeval validate lists them)"
        )
    ids.add(mark)


def _keep_loose_media(sample: Sample, store: MediaStore) -> None:
    """Media that a loader holds in memory (a parquet column) have no file of their own: the run keeps them, so that
    the sample can be read again."""
    for content in (*(message.content for message in sample.input), *sample.references):
        for part in content.parts:
            if part.media is not None and part.media.path is None:
                store.put(part.media)
