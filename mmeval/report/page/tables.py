"""The tables of the page: rows of numbers as its template takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
from mmeval.report.notes import from_to
from mmeval.report.numbers import NumberRow
from mmeval.report.page.index import STATUSES

DIGITS = 4
_STATUSES = ("scored", "failed", "unscored", "unavailable", "inapplicable", "unsupported")


def tables(
    rows: Sequence[NumberRow], names: Sequence[str], *, uncounted: bool = False, beside: Column | None = None
) -> list[dict[str, Any]]:
    """One table of tasks and groups, runs side by side; none where there is no number.

    With ``uncounted`` trials among the samples, the links lead to the others alone. ``beside`` is a column of a
    baseline's numbers.
    """
    if not rows:
        return []
    below = list(dict.fromkeys(row.notes for row in rows if row.notes)) if len(names) > 1 else []
    counted = f"&status={','.join(STATUSES[:-1])}" if uncounted else ""
    shown = [
        {
            **_row(row, below.index(row.notes) + 1 if row.notes in below else None, counted),
            "beside": "" if beside is None else _beside(row, beside),
        }
        for row in rows
    ]
    baseline = "" if beside is None else beside.header
    return [{"title": "Numbers", "columns": list(names), "baseline": baseline, "rows": shown, "remarks": below}]


def _beside(row: NumberRow, column: Column) -> str:
    value = column.values.get(Key(row.task, row.metric, row.slice))
    return "N/A" if value is None else f"{value:.{DIGITS}f}"


def _row(row: NumberRow, remark: int | None, counted: str) -> dict[str, Any]:
    return {
        "depth": row.depth,
        "name": row.label,
        "href": "" if row.is_group else _link(row) + counted,
        "version": row.version,
        "metric": row.metric,
        "better": "up" if row.higher_is_better else "down",
        "notes": row.notes if remark is None else "",
        "remark": remark,
        "numbers": [None if result is None else _number(result) for result in row.results],
        "absent": list(row.absent),
    }


def _link(row: NumberRow) -> str:
    """The row's trials in the gallery."""
    name, _, level = row.slice.partition("=")
    label = f"&label.{_quoted(name)}={_quoted(level)}" if row.slice else ""
    return f"#task={_quoted(row.task)}{label}"


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _number(result: Result) -> dict[str, Any]:
    counts = {status: getattr(result, status) for status in _STATUSES}
    return {
        "value": "N/A" if result.value is None else f"{result.value:.{DIGITS}f}",
        "stderr": "" if result.stderr is None else f"{result.stderr:.{DIGITS}f}",
        "interval": "" if result.ci95 is None else from_to(result.ci95),
        "bounds": from_to(result.bounds) if result.bounds is not None and (result.failed or result.unscored) else "",
        "counts": {name: count for name, count in counts.items() if count},
        "total": result.n,
    }
