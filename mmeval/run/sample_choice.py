"""Which samples of a task a run takes, by filter, name, limit, offset or draw."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Iterator
from functools import cached_property
from itertools import islice

from mmeval.dataset.bad_sample import in_words, rows_of
from mmeval.dataset.contract import CountsLabels, Dataset
from mmeval.dataset.readable import LoaderFailure, readable
from mmeval.dataset.sampling import FEWER, Draw, Subset
from mmeval.errors import UsageError
from mmeval.records.sample import Sample
from mmeval.run.options import RunOptions
from mmeval.system.number_set import NumberSet
from mmeval.task.task import Task


class SampleChoice:
    """The chosen samples of one task, read one at a time in the order of its data set.

    ``taken`` fills up meanwhile. Where samples are drawn, or a share of filtered ones
    is wanted, the data set is read once before that, when the first of these is needed.
    """

    def __init__(self, task: Task, options: RunOptions) -> None:
        self.taken = NumberSet()
        self.task = task
        self._options = options
        self._named = options.samples.get(task.name)
        self._counted: int | None = None

    @cached_property
    def dataset(self) -> Dataset:
        """The data set, opened once. Raises UsageError for a named index that is
        missing."""
        dataset = self.task.dataset()
        for index in self._named or ():
            if not 0 <= index < len(dataset):
                raise UsageError(
                    f"--samples: {self.task.name} has {len(dataset)} samples, so "
                    f"there is no index {index}"
                )
        return dataset

    @property
    def size(self) -> int:
        """How many samples are chosen; an upper limit before a filter is applied."""
        # opened here at the latest: what it lacks is found before anything is asked
        most = self._most
        if self._named is not None:
            return min(most, len(set(self._named)))
        limit = self._limit
        left = (most if self.kept is None else self.kept) - self._options.offset
        return max(0, left if limit is None else min(left, limit))

    @cached_property
    def _most(self) -> int:
        """The most samples that the task can have, as far as is known without reading
        them."""
        rows = len(self.dataset)
        if not self.task.filter:
            return rows
        bounds = [rows]
        expected = self.task.expected
        is_known = expected.rows is not None and rows <= expected.rows
        if is_known and expected.samples is not None:
            bounds.append(expected.samples)
        # a loader may be a plugin, which may call sys.exit; its error is reported when
        # its rows are read
        with contextlib.suppress(Exception, SystemExit):
            if isinstance(self.dataset, CountsLabels):
                most = 0
                for labels, count in self.dataset.label_counts():
                    if self.task.may_select(labels, unknown=True):
                        most += count
                bounds.append(most)
        return min(bounds)

    @property
    def counted(self) -> bool:
        """Whether ``size`` is what will be asked: no filter has yet to choose."""
        return not self.task.filter or (self._named is None and self.kept is not None)

    @property
    def subset(self) -> Subset | None:
        """What part of the samples was taken, and how; None for whole data without
        flags."""
        options = self._options
        given = (
            ("samples", self._named is not None),
            ("limit", self._named is None and options.limit is not None),
            ("offset", self._named is None and options.offset > 0),
            ("shuffle", self._draw is not None and options.sample_shuffle is not None),
            ("stratify", self._draw is not None and bool(options.stratify)),
            (FEWER, self._fewer),
        )
        how = tuple(name for name, chose in given if chose)
        if not how:
            return None
        whole = self.kept
        if self._fewer:
            # what all the data give; None if filtered and not in the task file
            expected = self.task.expected
            whole = expected.samples
            if whole is None and not self.task.filter:
                whole = expected.rows
        return Subset(whole, len(self.taken), how)

    @property
    def _fewer(self) -> bool:
        """Whether the data, as far as counted, hold less than the task file expects."""
        expected, there = self.task.expected, self.kept
        if expected.rows is not None and len(self.dataset) < expected.rows:
            return True
        if expected.samples is None or there is None:
            return False
        return there < expected.samples

    def check(self) -> None:
        """Raises UsageError if no sample is left; reads up to a filter's first
        match."""
        left = self.size > 0
        if left and self.task.filter:
            left = next(self._chosen(), None) is not None
        if not left:
            raise UsageError(f"{self.task.name}: {self._why_empty()}")

    def fault(self) -> str:
        """Why none of the chosen samples can be asked: the first of them, in words.
        Empty where one can be, or the data cannot be read so far. Reads up to the first
        that can be asked."""
        first = ""
        for item in readable(self._chosen()):
            if isinstance(item, LoaderFailure):  # it is reported when its row is read
                return ""
            _, sample = item
            if not sample.fault:
                return ""
            first = first or in_words(sample)
        return first

    def ahead(self, count: int) -> list[Sample]:
        """The first samples that are chosen; fewer if a row is unreadable."""
        found: list[Sample] = []
        for item in readable(islice(self._chosen(), count)):
            if isinstance(item, LoaderFailure):  # it is reported when its row is read
                break
            _, sample = item
            found.append(sample)
        return found

    def first(self, count: int) -> list[Sample]:
        """The first samples the filter keeps, chosen or not; fewer if a row is
        unreadable."""
        found: list[Sample] = []
        for item in readable(islice(self._kept(), count)):
            if isinstance(item, LoaderFailure):  # it is reported when its row is read
                return found
            _, sample = item
            found.append(sample)
        if len(found) < count:
            self._counted = len(found)
        return found

    def __iter__(self) -> Iterator[tuple[int, Sample]]:
        for index, sample in self._chosen():
            self.taken.add(index)
            yield index, sample

    def _chosen(self) -> Iterator[tuple[int, Sample]]:
        if self._named is not None:
            yield from self._picked(set(self._named))
        elif self._draw is not None:
            yield from self._picked(self._drawn)
        else:
            yield from self._first()

    def _picked(self, wanted: Collection[int]) -> Iterator[tuple[int, Sample]]:
        left = len(wanted)
        for index, sample in enumerate(rows_of(self.dataset) if left else ()):
            if index not in wanted:
                continue
            if self.task.selected(sample):
                yield index, sample
            left -= 1
            if not left:  # before the next row is read, which may be broken
                return

    def _first(self) -> Iterator[tuple[int, Sample]]:
        limit, skip = self._limit, self._options.offset
        seen = 0
        if limit == 0:
            return
        for index, sample in self._kept():
            seen += 1
            if seen <= skip:
                continue
            yield index, sample
            # before the next row is read, which may be broken
            if limit is not None and seen - skip == limit:
                return
        self._counted = seen

    def _kept(self) -> Iterator[tuple[int, Sample]]:
        """The samples that the task's filter keeps."""
        for index, sample in enumerate(rows_of(self.dataset)):
            if self.task.selected(sample):
                yield index, sample

    @property
    def _draw(self) -> Draw | None:
        options = self._options
        if self._named is not None or (
            options.sample_shuffle is None and not options.stratify
        ):
            return None
        return Draw(options.sample_shuffle or 0, options.stratify)

    @cached_property
    def _order(self) -> list[int]:
        assert self._draw is not None
        try:
            return self._draw.order(self._kept())
        except UsageError as error:
            raise UsageError(f"{self.task.name}: {error}") from None

    @cached_property
    def _drawn(self) -> set[int]:
        start = self._options.offset
        return set(self._order[start : start + self.size])

    @property
    def _limit(self) -> int | None:
        limit = self._options.limit
        if limit is None:
            return None
        if limit >= 1:
            return int(limit)
        if self.kept is None:
            self._counted = sum(1 for _ in self._kept())
        return math.ceil(limit * (self.kept or 0))

    @property
    def kept(self) -> int | None:
        """How many samples the task has; None where a filter chooses and was not
        counted."""
        if self._draw is not None:
            return len(self._order)
        return self._counted if self.task.filter else len(self.dataset)

    def _why_empty(self) -> str:
        if not len(self.dataset):
            return "its data set is empty: there is not a single row in it"
        ways = []
        if self.task.filter:
            ways.append(f"the filter {dict(self.task.filter)}")
        if self._named is not None:
            ways.append(f"--samples {list(self._named)}")
        elif self._options.offset:
            ways.append(f"--offset {self._options.offset}")
        advice = f"change {' or '.join(ways)}" if ways else "check its data"
        rows = len(self.dataset)
        why = f"no sample is left of the {rows} in its data set; {advice}"
        unknown = set(self.task.filter)
        for sample in rows_of(self.dataset) if unknown else ():
            unknown -= set(sample.metadata)
        if not unknown:
            return why
        labels = " or ".join(map(repr, sorted(unknown)))
        return f"{why} (no sample has the label {labels})"
