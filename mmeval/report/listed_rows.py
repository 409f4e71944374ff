"""Chooses the rows of the short table, so that it fits on a screen: headlines, and the
numbers below them that were paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from mmeval.report.headline import further_rows
from mmeval.results.notes import is_none
from mmeval.results.numbers import NumberRow, ResultsDocument

MOST_FURTHER = 4
"""Maximum number of further numbers below the headline of a group or task."""
MOST_ROWS = 14
"""Number of rows above which members of groups lose rows. With the notes and the last
lines, such a table fits on a screen of 24 lines."""


class ListedTask(NamedTuple):
    """A group or task in the short table.

    - ``headline``: its first number
    - ``further``: the numbers below it
    - ``more``: the number of further numbers that have no row; 0 if they are counted
      in ``ListedRows.hidden_numbers``
    """

    headline: NumberRow
    further: tuple[NumberRow, ...] = ()
    more: int = 0

    @property
    def row_count(self) -> int:
        return 1 + len(self.further) + (self.more > 0)


@dataclass
class ListedRows:
    """The rows of the short table, and what has no row in it.

    - ``hidden_tasks``: the number of tasks without a row, by the alias of their group
    - ``hidden_numbers``: the number of further numbers of members of groups
    """

    tasks: list[ListedTask]
    hidden_tasks: dict[str, int] = field(default_factory=dict)
    hidden_numbers: int = 0

    @property
    def fits(self) -> bool:
        return sum(task.row_count for task in self.tasks) <= MOST_ROWS


def listed_rows(
    headlines: Sequence[NumberRow],
    rows: Sequence[NumberRow],
    document: ResultsDocument,
) -> ListedRows:
    """Returns the rows of the short table.

    A row outside all groups always has its place. If the others are too many, members
    of groups first lose their further numbers. Then the groups with the most members
    lose their members' rows.
    """
    further = {row.task: further_rows(rows, row, document) for row in headlines}
    tasks = []
    for row in headlines:
        more = max(0, len(further[row.task]) - MOST_FURTHER)
        tasks.append(ListedTask(row, tuple(further[row.task][:MOST_FURTHER]), more))
    chosen = ListedRows(tasks)
    for most in (1, 0):
        if not chosen.fits:
            chosen = _with_fewer_numbers(tasks, most)
    while not chosen.fits and _hide_members(chosen):
        pass
    return chosen


def _with_fewer_numbers(tasks: Sequence[ListedTask], most: int) -> ListedRows:
    """Returns rows in which members of groups have at most ``most`` further numbers."""
    chosen = ListedRows([])
    for task in tasks:
        if not task.headline.depth:
            chosen.tasks.append(task)
            continue
        chosen.tasks.append(ListedTask(task.headline, task.further[:most]))
        chosen.hidden_numbers += len(task.further[most:]) + task.more
    return chosen


def _hide_members(chosen: ListedRows) -> bool:
    """Removes the rows of the members of one group: the group with the most members
    among those that contain no other listed group. Returns False if there is none."""
    best, most = 0, 0
    for index, task in enumerate(chosen.tasks):
        members = _members(chosen.tasks, index)
        depths = {member.headline.depth for member in members}
        if len(depths) == 1 and task.headline.is_group and len(members) > most:
            best, most = index, len(members)
    if not most:
        return False

    members = chosen.tasks[best + 1 : best + 1 + most]
    count = 0
    for member in members:
        if member.headline.is_group:  # its own members are hidden already
            count += chosen.hidden_tasks.pop(member.headline.alias, 0)
        else:
            count += 1
        chosen.hidden_numbers += len(member.further) + member.more
    alias = chosen.tasks[best].headline.alias
    chosen.hidden_tasks[alias] = count
    del chosen.tasks[best + 1 : best + 1 + most]
    return True


def _members(tasks: Sequence[ListedTask], index: int) -> list[ListedTask]:
    """Returns the listed members of a group, at any depth."""
    members = []
    for task in tasks[index + 1 :]:
        if task.headline.depth <= tasks[index].headline.depth:
            break
        members.append(task)
    return members


def with_number(headlines: Sequence[NumberRow]) -> list[NumberRow]:
    """Returns the headlines with a number, and the groups that contain them."""
    chosen: list[NumberRow] = []
    depths: set[int] = set()
    for row in reversed(headlines):
        (result,) = row.results
        # the row has a number, or a lost number that scoring again may compute
        has_number = False
        if result is not None and not is_none(result):
            has_number = result.value is not None or result.failed + result.unscored > 0
        if has_number or max(depths, default=0) > row.depth:
            chosen.append(row)
            depths.add(row.depth)
        depths = {depth for depth in depths if depth <= row.depth}
    return chosen[::-1]
