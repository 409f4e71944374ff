"""Chooses the headline of each group and task: the number that is shown if only one
fits."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.results.numbers import NumberRow


def headline_rows(rows: Sequence[NumberRow]) -> list[NumberRow]:
    """Returns one row for each group and task, in the given order.

    Slices do not get a row.

    Numbers are considered in this order: totals of averages, other totals, then all
    other numbers in the order of the rows. A total is computed from other numbers, and
    is a part of no other number. The headline is the first number with a value, even if
    some trials are lost. With several runs, it is the number with the most values. A
    partial value is treated as missing. If no number has a value, the headline is the
    first row.
    """
    whole: dict[str, list[NumberRow]] = {}
    for row in rows:
        if not row.slice:
            whole.setdefault(row.task, []).append(row)
    return [_headline(of_task) for of_task in whole.values()]


def _headline(rows: Sequence[NumberRow]) -> NumberRow:
    """Returns the headline of one task. ``rows`` are its numbers over all samples."""
    inside: set[str] = set()
    for row in rows:
        inside |= row.pieces

    def rank(row: NumberRow) -> tuple[bool, bool]:
        is_total = bool(row.pieces) and row.metric not in inside
        return (not is_total, not row.of_averages)

    best = max(sorted(rows, key=rank), key=_values)
    return best if _values(best) else rows[0]


def _values(row: NumberRow) -> int:
    """Counts the runs in which a row has a value that is not partial; some of its
    trials may be lost."""
    count = 0
    for result, is_partial in zip(row.results, row.partial, strict=True):
        if result is None or is_partial:
            continue
        is_lost = result.scored > 0 and result.failed + result.unscored > 0
        count += result.value is not None or is_lost
    return count
