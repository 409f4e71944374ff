"""Formats a table in Markdown: one run with all columns, or several runs with one
column each."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.records.score import Result
from mmeval.report.markdown import cell, table_lines
from mmeval.results.notes import from_to
from mmeval.results.numbers import NumberRow

_OF_ONE = ("Value", "±", "Stderr", "95 % CI", "Scored")
MAX_NOTE = 400


def markdown_table(rows: Sequence[NumberRow], names: Sequence[str]) -> str:
    """Returns a Markdown table. Numbers of several runs are formatted as ``0.5000
    (0.4000 to 0.6000)``. A dagger marks a number that is not comparable with the first
    run's number; the notes have the reason."""
    several = len(names) > 1
    columns = [cell(name) for name in names] if several else list(_OF_ONE)
    headers = ["Tasks", "Version", "Metric", "↑/↓", *columns, "Notes"]
    body = []
    last = ""
    for row in rows:
        name = f"{row.task} {row.slice}"
        first = version = ""
        if name != last:
            indent = f"{' ' * row.depth}- " if row.depth else ""
            first, version = indent + cell(row.label), cell(row.version)
        last = name
        numbers = [] if several else number_cells(row.results[0])
        for run, result in enumerate(row.results if several else ()):
            text = row.absent[run]
            if result is not None:
                text = "N/A" if result.value is None else f"{result.value:.4f}"
                if result.value is not None and result.interval is not None:
                    text += f" ({from_to(result.interval)})"
                if run and row.unlike[run - 1]:
                    text += "†"
            numbers.append(text)
        arrow = "↑" if row.higher_is_better else "↓"
        notes = cell(row.notes, limit=MAX_NOTE)
        body.append([first, version, cell(row.metric), arrow, *numbers, notes])
    right = set(columns) - {"±"}
    lines = table_lines(headers, body, right_aligned=right, if_filled="Notes")
    return "".join(f"{line}\n" for line in lines)


def number_cells(result: Result | None) -> list[str]:
    """Returns a number's cells: value, standard error, interval, and scored trials."""
    if result is None:
        return ["N/A", "±", "N/A", "N/A", ""]
    value = "N/A" if result.value is None else f"{result.value:.4f}"
    stderr = "N/A" if result.stderr is None else f"{result.stderr:.4f}"
    interval = "N/A" if result.interval is None else from_to(result.interval)
    return [value, "±", stderr, interval, f"{result.scored}/{result.n}"]
