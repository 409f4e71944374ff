"""Check the data of a group's tasks together against the group's file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mmeval.findings.finding import Finding
from mmeval.prepare.checks import Mark, different
from mmeval.prepare.ready import DataCheck
from mmeval.results.groups import tasks_inside
from mmeval.task.schema import GroupExpectedKeys
from mmeval.task.selection import ChosenTasks


@dataclass(frozen=True)
class Together:
    """A group with the contents of its data: different ``rows``, ``media`` by kind.

    ``bad`` rows cannot be asked, and their media do not count; ``torn`` rows lack media
    of candidates. ``findings`` are differences from the expected numbers. Without
    ``counted`` the data of a task could not be read.
    """

    group: str
    rows: int = 0
    media: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    bad: int = 0
    torn: int = 0
    counted: bool = True

    @property
    def ready(self) -> bool:
        is_whole = self.counted and not self.bad and not self.torn
        return is_whole and not self.findings


def together(chosen: ChosenTasks, checks: Sequence[DataCheck]) -> Iterator[Together]:
    """Check the groups whose files have ``expected``."""
    by_task = {check.task: check for check in checks}
    members = {name: group.members for name, group in chosen.groups.items()}
    for name, file in chosen.group_files.items():
        expected = file.keys.expected
        if expected != GroupExpectedKeys():
            own = [by_task[task] for task in tasks_inside(name, members)]
            yield _together(name, expected, own)


def _together(
    group: str, expected: GroupExpectedKeys, checks: Sequence[DataCheck]
) -> Together:
    row_marks: set[str] = set()
    media_marks: set[Mark] = set()
    bad_marks: set[str] = set()
    torn_marks: set[str] = set()
    for check in checks:
        counts = check.counts
        if counts is None or not counts.read:
            return Together(group, counted=False)
        row_marks |= counts.row_marks
        media_marks |= counts.media_marks
        bad_marks |= counts.bad_marks
        torn_marks |= counts.torn_marks
    rows = len(row_marks)
    media = Counter(kind for kind, _ in media_marks)
    findings = different(
        group,
        {"rows": (expected.rows, rows)},
        {} if bad_marks else expected.media,
        media,
    )
    return Together(
        group,
        rows,
        media,
        tuple(findings),
        bad=len(bad_marks),
        torn=len(torn_marks),
    )
