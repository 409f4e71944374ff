"""Formats bounds as a table, and their means as a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.authoring.bounds import Bounds, Which
from mmeval.report.markdown import cell, table_lines

_HEADERS = ("Tasks", "Metric", "↑/↓", "Reference", "Shuffled", "Empty", "Notes")
_NUMBERS = frozenset(("Reference", "Shuffled", "Empty"))
_MAX_NOTE = 200
_MEANS: Mapping[Which, str] = {
    "reference": "reference",
    "shuffled": "shuffled references",
    "empty": "empty",
}


def bounds_table(all_bounds: Sequence[Bounds]) -> str:
    """Returns the table as text, or an empty string if there is no number."""
    if not all_bounds:
        return ""
    rows: list[list[str]] = []
    before = ""
    for bounds in all_bounds:
        task = bounds.task.name
        row = [
            "" if task == before else cell(task),
            cell(bounds.metric),
            "↑" if bounds.higher_is_better else "↓",
        ]
        before = task
        for which in _MEANS:
            value = bounds.value(which)
            row.append("N/A" if value is None else f"{value:.4f}")
        row.append(cell("; ".join(_notes(bounds)), limit=_MAX_NOTE))
        rows.append(row)
    lines = table_lines(_HEADERS, rows, right_aligned=_NUMBERS, if_filled="Notes")
    return "\n".join([*lines, ""])


def bounds_means(all_bounds: Sequence[Bounds]) -> str:
    """Returns the means of several numbers, in one line. The line is empty unless all
    numbers range from 0 (worst) to 1 (best)."""
    known = [bounds for bounds in all_bounds if not bounds.unavailable]
    for bounds in known:
        if bounds.range != (0, 1) or not bounds.higher_is_better:
            return ""
    if len(known) < 2:
        return ""
    means: list[str] = []
    for which, words in _MEANS.items():
        values: list[float] = []
        for bounds in known:
            value = bounds.value(which)
            if value is not None:
                values.append(value)
        if len(values) == len(
            known
        ):  # a mean over only some numbers would not be comparable
            means.append(f"{words} {sum(values) / len(values):.2f}")
    return f"{'   '.join(means)}\n" if means else ""


def _notes(bounds: Bounds) -> Iterator[str]:
    if bounds.unavailable:
        yield "unavailable"
        return
    yield from _missing_scores(bounds, "reference")
    if bounds.only_one:
        yield "nothing to shuffle: fewer than two samples have a reference"
    else:
        yield from _missing_scores(bounds, "shuffled")
    yield from _missing_scores(bounds, "empty")


def _missing_scores(bounds: Bounds, which: Which) -> Iterator[str]:
    """Yields a note if some answers have no score."""
    result = bounds.results.get(which)
    if result is None:
        return
    supported = result.n - result.unsupported
    applicable = supported - result.inapplicable
    if result.unsupported and not supported:
        if which == "reference":
            yield "no sample has a reference"
        else:
            yield f"{which}: no sample could be asked"
    elif result.inapplicable and not applicable:
        yield f"{which}: nothing to score"
    elif result.scored < applicable:
        yield f"{which}: {applicable - result.scored} of {applicable} without a score"
