"""Builds links from tables to their trials."""

from __future__ import annotations

from urllib.parse import quote

from mmeval.report.page.index import STATUSES
from mmeval.results.numbers import NumberRow


def link(row: NumberRow, *, uncounted: bool) -> str:
    """Returns the link to the list of the row's trials, or an empty string for a
    group. If there are ``uncounted`` trials, the link excludes them."""
    if row.is_group:
        return ""
    address = trials_link(row.task, row.slice)
    if uncounted:
        address += f"&status={','.join(STATUSES[:-1])}"
    return address


def trials_link(task: str, slice_: str = "") -> str:
    """Returns the link to the trials of a task, or of one of its slices."""
    address = f"#task={_quoted(task)}"
    if slice_:
        name, _, level = slice_.partition("=")
        address += f"&label.{_quoted(name)}={_quoted(level)}"
    return address


def _quoted(text: str) -> str:
    return quote(text, safe="", errors="replace")
