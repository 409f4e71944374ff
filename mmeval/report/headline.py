"""The headline of each group and task: its number where there is room for one."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.results.numbers import NumberRow


def headline_rows(rows: Sequence[NumberRow]) -> list[NumberRow]:
    """One row for each group and task, in the order given; slices have none.

    Totals come first (made of other numbers, and part of none), and among them those of
    averages; then the numbers listed first. The first one with a value is taken, also
    where it lost a part of its trials; of several runs, the one with most values. A
    partial value is none. Where none has a value it is the first row.
    """
    whole: dict[str, list[NumberRow]] = {}
    for row in rows:
        if not row.slice:
            whole.setdefault(row.task, []).append(row)
    return [_headline(of_task) for of_task in whole.values()]


def _headline(rows: Sequence[NumberRow]) -> NumberRow:
    """The headline of one task, of the rows of its whole numbers."""
    inside: set[str] = set()
    for row in rows:
        inside |= row.pieces

    def rank(row: NumberRow) -> tuple[bool, bool]:
        is_total = bool(row.pieces) and row.metric not in inside
        return (not is_total, not row.of_averages)

    best = max(sorted(rows, key=rank), key=_values)
    return best if _values(best) else rows[0]


def _values(row: NumberRow) -> int:
    """In how many runs a row has a value that nothing is missing from, or lost a part
    of what it would be made of."""
    count = 0
    for result, is_partial in zip(row.results, row.partial, strict=True):
        if result is None or is_partial:
            continue
        is_lost = result.scored > 0 and result.failed + result.unscored > 0
        count += result.value is not None or is_lost
    return count
