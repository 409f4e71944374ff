"""The headline of each group and task: its number where there is room for one."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.records.score import Result
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
    return [_headline(own) for own in whole.values()]


def _headline(rows: Sequence[NumberRow]) -> NumberRow:
    inside = frozenset[str]().union(*(row.pieces for row in rows))
    totals_first = sorted(
        rows,
        key=lambda row: (not row.pieces or row.metric in inside, not row.of_averages),
    )
    best = max(totals_first, key=_values)
    return best if _values(best) else rows[0]


def _values(row: NumberRow) -> int:
    """In how many runs a row has a value that nothing is missing from, or lost a part
    of what it would be made of."""
    known = (
        result is not None and (result.value is not None or _is_lost(result))
        for result in row.results
    )
    return sum(
        value and not partial for value, partial in zip(known, row.partial, strict=True)
    )


def _is_lost(result: Result) -> bool:
    return result.scored > 0 and result.failed + result.unscored > 0
