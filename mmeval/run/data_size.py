"""Differences between the size of data and the task file."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import PREPARE_DATA
from mmeval.prepare.sources import data_source
from mmeval.task.data import TaskData
from mmeval.task.task import Task

FEWER_SAMPLES = "the data have fewer samples than the task file expects"


def more_rows(task: Task, rows: int) -> Iterator[Finding]:
    """Yields a finding for more rows than expected.

    Such data are not the benchmark's.
    """
    expected = task.expected.rows
    if expected is not None and rows > expected:
        cause = f"more rows than the task file expects ({expected:,})"
        subject = Subject(task.name)
        yield Finding("other_definition", subject, rows, 0, cause, _remedy(task))


def fewer_samples(
    task: Task,
    rows: int,
    kept: int | None,
) -> Iterator[Finding]:
    """Yields a finding for fewer rows or fewer filtered samples than expected.

    ``kept`` is the number of filtered samples; None if they were not counted.
    """
    expected = task.expected
    actual, whole = rows, expected.rows
    if kept is not None and expected.samples is not None:
        actual, whole = kept, expected.samples
    if whole is not None and actual < whole:
        yield Finding(
            "subset",
            Subject(task.name),
            actual,
            whole,
            FEWER_SAMPLES,
            _remedy(task),
            severity="note",
        )


def _remedy(task: Task) -> str:
    """Returns the command that fetches all data; empty for data in a local folder."""
    data = task.dataset
    if not isinstance(data, TaskData) or data_source(data) is None:
        return ""
    if data.data_dir is None:
        return PREPARE_DATA
    return f"{PREPARE_DATA} --data_dir {shlex.quote(str(data.data_dir))}"
