"""The tables of the page: rows of numbers as its template takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from mmeval.records import Result
from mmeval.report.numbers import NumberRow

DIGITS = 4


def tables(rows: Sequence[NumberRow], names: Sequence[str]) -> list[dict[str, Any]]:
    """One table of tasks and groups with the runs side by side; none where there is no number."""
    if not rows:
        return []
    below = list(dict.fromkeys(row.notes for row in rows if row.notes)) if len(names) > 1 else []
    shown = [_row(row, below.index(row.notes) + 1 if row.notes in below else None) for row in rows]
    return [{"title": "Numbers", "columns": list(names), "rows": shown, "remarks": below}]


def _row(row: NumberRow, remark: int | None) -> dict[str, Any]:
    return {
        "depth": row.depth,
        "name": row.label,
        "href": "" if row.is_group else _link(row),
        "version": row.version,
        "metric": row.metric,
        "better": "up" if row.higher_is_better else "down",
        "notes": row.notes if remark is None else "",
        "remark": remark,
        "numbers": [None if result is None else _number(result) for result in row.results],
    }


def _link(row: NumberRow) -> str:
    """The row's trials in the gallery."""
    name, _, level = row.slice.partition("=")
    label = f"&label.{_quoted(name)}={_quoted(level)}" if row.slice else ""
    return f"#task={_quoted(row.task)}{label}"


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")


def _number(result: Result) -> dict[str, Any]:
    counts = {
        "scored": result.scored,
        "failed": result.failed,
        "unscored": result.unscored,
        "unavailable": result.unavailable,
        "unsupported": result.unsupported,
    }
    incomplete = result.bounds is not None and (result.failed or result.unscored)
    return {
        "value": "N/A" if result.value is None else f"{result.value:.{DIGITS}f}",
        "stderr": "" if result.stderr is None else f"{result.stderr:.{DIGITS}f}",
        "interval": _from_to(result.ci95),
        "bounds": _from_to(result.bounds) if incomplete else "",
        "counts": {name: count for name, count in counts.items() if count},
        "total": result.n,
    }


def _from_to(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"{pair[0]:.{DIGITS}f} to {pair[1]:.{DIGITS}f}"
