"""Checks the combined data of a group's tasks against the group's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmeval.findings.finding import Finding
from mmeval.prepare.checks import DataCounts, number_findings
from mmeval.prepare.ready import DataCheck
from mmeval.results.groups import tasks_inside
from mmeval.task.schema import GroupExpectedKeys
from mmeval.task.selection import ChosenTasks


@dataclass(frozen=True)
class GroupCheck:
    """A group of tasks, and how many rows and files their data contain together.

    ``rows`` is the number of distinct rows. ``media`` is the number of distinct files
    by kind, without the files of bad rows. ``findings`` are differences from the
    expected numbers.
    """

    group: str
    ready: bool
    rows: int
    media: Mapping[str, int]
    findings: tuple[Finding, ...] = ()


def check_groups(
    chosen: ChosenTasks, checks: Sequence[DataCheck]
) -> Iterator[GroupCheck]:
    """Checks the groups whose files have ``expected`` and whose data can be read."""
    by_task = {check.task: check for check in checks}
    members = {name: group.members for name, group in chosen.groups.items()}
    for name, file in chosen.group_files.items():
        expected = file.keys.expected
        group_checks = [by_task[task] for task in tasks_inside(name, members)]
        if expected == GroupExpectedKeys() or not all(
            check.read for check in group_checks
        ):
            continue
        totals = DataCounts()
        for check in group_checks:
            if check.counts is not None:
                totals.row_marks |= check.counts.row_marks
                totals.media_marks |= check.counts.media_marks
                totals.bad_marks |= check.counts.bad_marks
        rows = len(totals.row_marks)
        numbers = {"rows": (expected.rows, rows)}
        media = {} if totals.bad_marks else expected.media
        findings = tuple(number_findings(name, numbers, media, totals.media))
        ready = not findings and all(check.ready for check in group_checks)
        yield GroupCheck(name, ready, rows, totals.media, findings)
