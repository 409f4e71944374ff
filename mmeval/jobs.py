"""Jobs: which samples of which tasks are put to the model, how often, in which order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from mmeval.dataset import Dataset
from mmeval.errors import UsageError
from mmeval.lines import to_line
from mmeval.mediastore import MediaStore
from mmeval.options import RunOptions
from mmeval.records import Sample, line_digest
from mmeval.task import Task


@dataclass(frozen=True, slots=True)
class Job:
    """One trial to make. ``position`` is the task's place in the run, ``index`` the sample's in its data set."""

    position: int
    task: Task
    index: int
    sample: Sample
    sample_line: bytes
    repeat: int


@dataclass(slots=True)
class Chosen:
    """Which trials of one task belong to this run: the samples that were chosen, times the repeats."""

    repeats: int
    _marks: bytearray = field(default_factory=bytearray)
    """One byte a sample of the data set, 1 for those that were chosen."""

    def add(self, index: int) -> None:
        self._marks.extend(bytes(max(0, index + 1 - len(self._marks))))
        self._marks[index] = 1

    def __call__(self, index: int, repeat: int) -> bool:
        return repeat < self.repeats and index < len(self._marks) and self._marks[index] == 1


class Plan:
    """The jobs of a run. Iterating reads the data sets, one sample at a time; ``chosen`` fills up meanwhile."""

    def __init__(self, tasks: tuple[Task, ...], options: RunOptions, media: MediaStore) -> None:
        self.tasks, self._options, self._media = tasks, options, media
        self.chosen = [Chosen(task.repeats) for task in tasks]
        self._datasets: dict[int, Dataset] = {}
        unknown = set(options.samples) - {task.name for task in tasks}
        if unknown:
            raise UsageError(f"--samples names tasks that are not run: {', '.join(sorted(unknown))}")

    def __iter__(self) -> Iterator[Job]:
        for position, task in enumerate(self.tasks):
            ids: set[int] = set()
            for index, sample in self._samples(position, task):
                self.chosen[position].add(index)
                _refuse_twice(ids, task, index, sample)
                line = self._line(task, index, sample)
                for repeat in range(task.repeats):
                    yield Job(position, task, index, sample, line, repeat)

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

    def total(self) -> int:
        """How many trials there will be; an upper limit where a filter has yet to be applied."""
        return sum(self._size(position, task) * task.repeats for position, task in enumerate(self.tasks))

    def check(self) -> None:
        """Raises UsageError for a task of which no sample is left. Opens the data; where a filter chooses, reads them
        up to the first sample that it keeps."""
        for position, task in enumerate(self.tasks):
            left = self._size(position, task) > 0
            if left and task.filter:
                left = next(self._samples(position, task), None) is not None
            if not left:
                raise UsageError(f"{task.name}: {self._why_empty(position, task)}")

    def _why_empty(self, position: int, task: Task) -> str:
        dataset = self.dataset(position)
        if not len(dataset):
            return "its data set is empty: there is not a single row in it"
        why = f"no sample is left of the {len(dataset)} in its data set; {self._narrowed(task)}"
        unknown = set(task.filter)
        for sample in dataset if unknown else ():
            unknown -= set(sample.metadata)
        return f"{why} (no sample has the label {' or '.join(map(repr, sorted(unknown)))})" if unknown else why

    def _narrowed(self, task: Task) -> str:
        options = self._options
        ways = [f"the filter {dict(task.filter)}"] if task.filter else []
        if task.name in options.samples:
            ways.append(f"--samples {list(options.samples[task.name])}")
        elif options.offset:
            ways.append(f"--offset {options.offset}")
        return f"change {' or '.join(ways)}" if ways else "check its data"

    def _size(self, position: int, task: Task) -> int:
        """How many samples are chosen; an upper limit where a filter has yet to be applied."""
        whole = len(self.dataset(position))
        if task.name in self._options.samples:
            return len(set(self._options.samples[task.name]))
        return max(0, min(whole - self._options.offset, self._limit(whole)))

    def dataset(self, position: int) -> Dataset:
        """A task's data set, opened once."""
        if position not in self._datasets:
            self._datasets[position] = self.tasks[position].dataset()
            self._check_named(self.tasks[position].name, len(self._datasets[position]))
        return self._datasets[position]

    def _check_named(self, task: str, size: int) -> None:
        for index in self._options.samples.get(task, ()):
            if not 0 <= index < size:
                raise UsageError(f"--samples: {task} has {size} samples, so there is no index {index}")

    def data(self) -> dict[str, dict[str, Any]]:
        """By task, what is recorded of its data: fingerprint, number of rows, and where they come from."""
        found = {}
        for position, task in enumerate(self.tasks):
            dataset = self.dataset(position)
            found[task.name] = {"fingerprint": dataset.fingerprint, "rows": len(dataset), **task.source()}
        return found

    def _limit(self, size: int) -> int:
        limit = self._options.limit
        if limit is None:
            return size
        return math.ceil(limit * size) if limit < 1 else int(limit)

    def _samples(self, position: int, task: Task) -> Iterator[tuple[int, Sample]]:
        dataset = self.dataset(position)
        named = set(self._options.samples[task.name]) if task.name in self._options.samples else None
        left = len(named) if named is not None else self._limit(len(dataset))
        skip = 0 if named is not None else self._options.offset
        if left <= 0:
            return
        for index, sample in enumerate(dataset):
            if (named is not None and index not in named) or not task.selected(sample):
                continue
            if skip:
                skip -= 1
                continue
            left -= 1
            yield index, sample
            if left <= 0:  # before the next row is read, which may be broken
                return


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
