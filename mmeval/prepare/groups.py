"""Check the data of a group's tasks together against the group's file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mmeval.prepare.checks import Mark, different
from mmeval.prepare.ready import Readiness
from mmeval.results.groups import tasks_inside
from mmeval.task.schema import GroupExpectedKeys
from mmeval.task.selection import ChosenTasks
from mmeval.wording import counted


@dataclass(frozen=True)
class Together:
    """A group with the contents of its data: different ``rows``, ``media`` by kind.
    ``bad`` rows cannot be asked, and their media do not count; ``torn`` rows lack media
    of candidates. ``uncounted``: why these cannot be counted, else empty; ``faults``:
    differences from the expected numbers."""

    group: str
    rows: int = 0
    media: Mapping[str, int] = field(default_factory=dict)
    uncounted: str = ""
    faults: tuple[str, ...] = ()
    bad: int = 0
    torn: int = 0

    @property
    def ready(self) -> bool:
        is_whole = not self.bad and not self.torn
        return is_whole and not self.uncounted and not self.faults


def together(chosen: ChosenTasks, states: Sequence[Readiness]) -> Iterator[Together]:
    """Check the groups whose files have ``expected``."""
    by_task = {state.task: state for state in states}
    members = {name: group.members for name, group in chosen.groups.items()}
    for name, file in chosen.group_files.items():
        expected = file.keys.expected
        if expected != GroupExpectedKeys():
            yield _together(
                name, expected, [by_task[task] for task in tasks_inside(name, members)]
            )


def _together(
    group: str, expected: GroupExpectedKeys, states: Sequence[Readiness]
) -> Together:
    counts = [
        state.counts
        for state in states
        if state.counts is not None and state.counts.read
    ]
    if len(counts) < len(states):
        lost = (
            f"the data of {len(states) - len(counts)} of its "
            f"{counted(len(states), 'task')} cannot be counted"
        )
        return Together(group, uncounted=lost)
    rows = len(set[str]().union(*(one.row_marks for one in counts)))
    media = Counter(
        kind for kind, _ in set[Mark]().union(*(one.media_marks for one in counts))
    )
    bad = len(set[str]().union(*(one.bad_marks for one in counts)))
    faults = different(
        {"rows": (expected.rows, rows)}, {} if bad else expected.media, media
    )
    torn = len(set[str]().union(*(one.torn_marks for one in counts)))
    return Together(group, rows, media, faults=tuple(faults), bad=bad, torn=torn)
