"""Chooses the samples of a task by filter, index, limit, offset or random draw."""

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
    """The chosen samples of one task, read one at a time in data set order.

    Iteration adds their indices to ``taken``. For a random draw, or a share of filtered
    samples, the whole data set is read first.
    """

    def __init__(self, task: Task, options: RunOptions) -> None:
        self.taken = NumberSet()
        self.task = task
        self._options = options
        self._named = options.samples.get(task.name)
        self._counted: int | None = None

    @cached_property
    def dataset(self) -> Dataset:
        """The data set, which is opened only once.

        Raises UsageError if an index of ``--samples`` does not exist.
        """
        dataset = self.task.dataset()
        for index in self._named or ():
            if not 0 <= index < len(dataset):
                raise UsageError(
                    f"--samples: the index {index} of {self.task.name} does not exist; "
                    f"it has {len(dataset)} samples"
                )
        return dataset

    @property
    def size(self) -> int:
        """Number of chosen samples; an upper limit before a filter is applied."""
        # opens the data set, so that missing data are reported before any call
        maximum = self._max_samples
        if self._named is not None:
            return min(maximum, len(set(self._named)))
        limit = self._limit
        remaining = (maximum if self.kept is None else self.kept) - self._options.offset
        return max(0, remaining if limit is None else min(remaining, limit))

    @cached_property
    def _max_samples(self) -> int:
        """Maximum number of samples of the task that is known without reading them."""
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
                matching = 0
                for labels, count in self.dataset.label_counts():
                    if self.task.may_select(labels, unknown=True):
                        matching += count
                bounds.append(matching)
        return min(bounds)

    @property
    def counted(self) -> bool:
        """True if ``size`` is exact: there is no filter, or it has been applied."""
        return not self.task.filter or (self._named is None and self.kept is not None)

    @property
    def subset(self) -> Subset | None:
        """The subset of samples that was taken, and how it was chosen.

        The subset is None if no flag chose samples and the data are complete.
        """
        options = self._options
        ways = (
            ("samples", self._named is not None),
            ("limit", self._named is None and options.limit is not None),
            ("offset", self._named is None and options.offset > 0),
            ("shuffle", self._draw is not None and options.sample_shuffle is not None),
            ("stratify", self._draw is not None and bool(options.stratify)),
            (FEWER, self._is_incomplete),
        )
        how = tuple(name for name, chose in ways if chose)
        if not how:
            return None
        whole = self.kept
        if self._is_incomplete:
            # the size of complete data; None if filtered and not in the task file
            expected = self.task.expected
            whole = expected.samples
            if whole is None and not self.task.filter:
                whole = expected.rows
        return Subset(whole, len(self.taken), how)

    @property
    def _is_incomplete(self) -> bool:
        """True if the data have fewer samples than the task file expects.

        The result is False if the samples were not counted.
        """
        expected, kept = self.task.expected, self.kept
        if expected.rows is not None and len(self.dataset) < expected.rows:
            return True
        if expected.samples is None or kept is None:
            return False
        return kept < expected.samples

    def check(self) -> None:
        """Raises UsageError if no sample is left.

        Reads up to the first match of the filter.
        """
        has_samples = self.size > 0
        if has_samples and self.task.filter:
            has_samples = next(self._chosen(), None) is not None
        if not has_samples:
            raise UsageError(f"{self.task.name}: {self._why_empty()}")

    def fault(self) -> str:
        """Returns the first sample's fault if none of the chosen samples can be asked.

        Returns an empty string if one can be asked, or if an unreadable row precedes
        it. Reads up to the first sample that can be asked.
        """
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
        """Returns the first chosen samples; fewer if a row is unreadable."""
        samples: list[Sample] = []
        for item in readable(islice(self._chosen(), count)):
            if isinstance(item, LoaderFailure):  # it is reported when its row is read
                break
            _, sample = item
            samples.append(sample)
        return samples

    def first(self, count: int) -> list[Sample]:
        """Returns the first samples that the filter keeps, whether chosen or not.

        There are fewer if a row is unreadable.
        """
        samples: list[Sample] = []
        for item in readable(islice(self._kept(), count)):
            if isinstance(item, LoaderFailure):  # it is reported when its row is read
                return samples
            _, sample = item
            samples.append(sample)
        if len(samples) < count:
            self._counted = len(samples)
        return samples

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

    def _picked(self, indices: Collection[int]) -> Iterator[tuple[int, Sample]]:
        remaining = len(indices)
        for index, sample in enumerate(rows_of(self.dataset) if remaining else ()):
            if index not in indices:
                continue
            if self.task.selected(sample):
                yield index, sample
            remaining -= 1
            if not remaining:  # before the next row is read, which may be broken
                return

    def _first(self) -> Iterator[tuple[int, Sample]]:
        limit, skip = self._limit, self._options.offset
        kept_count = 0
        if limit == 0:
            return
        for index, sample in self._kept():
            kept_count += 1
            if kept_count <= skip:
                continue
            yield index, sample
            # before the next row is read, which may be broken
            if limit is not None and kept_count - skip == limit:
                return
        self._counted = kept_count

    def _kept(self) -> Iterator[tuple[int, Sample]]:
        """Yields the samples that the task's filter keeps."""
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
        """Number of samples of the task; None if a filter keeps an unknown number."""
        if self._draw is not None:
            return len(self._order)
        return self._counted if self.task.filter else len(self.dataset)

    def _why_empty(self) -> str:
        if not len(self.dataset):
            return "its data set is empty"
        flags = []
        if self.task.filter:
            flags.append(f"the filter {dict(self.task.filter)}")
        if self._named is not None:
            flags.append(f"--samples {list(self._named)}")
        elif self._options.offset:
            flags.append(f"--offset {self._options.offset}")
        advice = f"change {' or '.join(flags)}" if flags else "check its data"
        rows = len(self.dataset)
        reason = f"none of the {rows} samples in its data set is left; {advice}"
        unknown = set(self.task.filter)
        for sample in rows_of(self.dataset) if unknown else ():
            unknown -= set(sample.metadata)
        if not unknown:
            return reason
        labels = " or ".join(map(repr, sorted(unknown)))
        return f"{reason} (no sample has the label {labels})"
