"""Bad samples: those that cannot be put to a model. They are counted and named, and never asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mmeval.dataset.contract import Dataset
from mmeval.errors import RowError
from mmeval.records.response import ErrorInfo
from mmeval.records.sample import Sample
from mmeval.wording import counted, printable

MAX_NAMED = 10
"""So many are named in a message; the others are counted."""
MAX_TASKS = 3
"""As :data:`MAX_NAMED`, for the tasks of a sample that several have."""
MAX_CHARS = 400
"""So much of a fault is told: it begins with the file and the row."""


def rows_of(dataset: Dataset) -> Iterator[Sample]:
    """Every row of a data set as a sample. One that its loader cannot read (RowError) is a sample with that fault;
    where nobody knows its id it is called ``row N``, by its place in the data set from 1.

    Raises what the loader raises otherwise; a RowError too where the rows behind it do not come, as they would be
    missing in silence.
    """
    rows, number = iter(dataset), 0
    last: RowError | None = None
    while True:
        try:
            sample = next(rows)
            last = None
        except StopIteration:
            if last is not None and number < len(dataset):
                raise last from None
            return
        except RowError as error:
            if number >= len(dataset):  # it would be raised for ever
                raise
            last, sample = error, _unread(error, number + 1)
        number += 1
        yield sample


def _unread(error: RowError, number: int) -> Sample:
    return Sample(error.id or f"row {number}", (), metadata=error.labels, fault=str(error) or "the row cannot be read")


def without_content(sample: Sample, reason: str) -> Sample:
    """A sample whose content cannot be written down, as one that cannot be asked; an earlier fault stays its own."""
    return replace(sample, input=(), references=(), fault=sample.fault or reason)


def error_of(sample: Sample) -> ErrorInfo | None:
    """Why the sample is not asked; None for one that can be."""
    return ErrorInfo("bad_sample", sample.fault) if sample.fault else None


@dataclass
class BadSamples:
    """Those that were met: each once, however many tasks have it, and the first few in words. ``trials`` counts it once
    a task and repeat."""

    trials: int = 0
    _seen: set[int] = field(default_factory=set)
    _named: dict[str, list[str]] = field(default_factory=dict)
    """The tasks of those that are kept in words."""

    @property
    def count(self) -> int:
        return len(self._seen)

    def add(self, task: str, sample: Sample, repeats: int = 1) -> None:
        self.trials += repeats
        self._seen.add(hash((sample.id, sample.fault)))
        words = in_words(sample)
        if words in self._named:
            self._named[words].append(task)
        elif len(self._named) < MAX_NAMED:
            self._named[words] = [task]

    @property
    def said(self) -> str:
        """``2 samples (6 trials) cannot be asked``."""
        trials = f" ({counted(self.trials, 'trial')})" if self.trials != self.count else ""
        return f"{counted(self.count, 'sample')}{trials} cannot be asked"

    def lines(self) -> Iterator[str]:
        """Those that are kept in words, and how many more there are."""
        yield from (f"{_tasks(tasks)}: {words}" for words, tasks in self._named.items())
        if more := self.count - len(self._named):
            yield f"and {more:,} more"


def _tasks(names: Sequence[str]) -> str:
    more = len(names) - MAX_TASKS
    return ", ".join(names[:MAX_TASKS]) + (f" and {counted(more, 'other task')}" if more > 0 else "")


def in_words(sample: Sample) -> str:
    """A sample by its name and fault, on one line."""
    return f"sample {printable(repr(sample.id), limit=MAX_CHARS)}: {printable(sample.fault, limit=MAX_CHARS)}"
