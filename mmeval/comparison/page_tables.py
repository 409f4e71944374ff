"""Builds the forest plots and the tables of a comparison's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from mmeval.comparison.compare import Comparison
from mmeval.comparison.number import ComparedNumber
from mmeval.comparison.run_pair import ONE_SIDED
from mmeval.comparison.text import (
    notes_on_settings,
    notes_on_tests,
    p_text,
    remarks_on,
    signed,
    tables_of_comparison,
)
from mmeval.report.charts.chosen import MOST_BARS, Chart, Ranges
from mmeval.report.charts.forest import ForestRow, Tone, forest
from mmeval.report.page.headlines import DIGITS
from mmeval.report.page.links import trials_link
from mmeval.report.page.pivot import PivotCell, PivotRow, PivotTable, aligned
from mmeval.report.short_table import number_text
from mmeval.report.table_formats.layouts import shown
from mmeval.results.layout import Table
from mmeval.results.notes import from_to
from mmeval.system.wording import printable

_LONGEST = 2_000
_SEEN = "would have been seen"


def forest_plots(comparison: Comparison, ranges: Ranges) -> Iterator[Chart]:
    """Yields a plot of the differences for each range of metrics, because plots share
    an axis."""
    by_range: dict[tuple[float, ...] | str, list[ComparedNumber]] = {}
    for number in comparison.numbers:
        if number.why != ONE_SIDED:
            spread = ranges.get(number.metric)
            key = number.metric if spread is None else tuple(spread)
            by_range.setdefault(key, []).append(number)
    for key, numbers in by_range.items():
        if any(number.difference is not None for number in numbers):
            yield _plot(comparison, numbers, name=str(key))


def _plot(
    comparison: Comparison, numbers: Sequence[ComparedNumber], *, name: str
) -> Chart:
    groups: dict[str, list[ForestRow]] = {}
    several = len(comparison.runs) > 2
    for number in numbers[:MOST_BARS]:
        title = number.title
        if not number.higher_is_better:
            title += " (lower is better)"
        words = number.verdict_words
        if several:
            words = f"{number.run}: {words}"
        tone: Tone = "unsure"
        if number.verdict == "better":
            tone = "better"
        elif number.verdict == "worse":
            tone = "worse"
        row = ForestRow(words, tone, number.difference, number.ci95)
        groups.setdefault(title, []).append(row)
    reference = comparison.names[0]
    title = f"Difference from {reference}, with its 95 % interval"
    caption = (
        "A point to the right of the line means a higher value than in "
        f"{reference}. An interval that contains 0 does not show in which direction "
        "the runs differ."
    )
    gate = comparison.gate
    limits = [] if gate is None else _limits(gate.name, gate.margin, numbers)
    if limits:
        caption += " Dashed: the margin of the gate."
    if len(numbers) > MOST_BARS:
        title += f" (the first {MOST_BARS} of {len(numbers):,} numbers)"
    draw = partial(forest, title, list(groups.items()), limits=limits)
    return Chart(
        f"differences-{name}", title, caption, draw, partial(draw, narrow=True)
    )


def _limits(gate: str, margin: float, numbers: Sequence[ComparedNumber]) -> list[float]:
    """Returns the differences at which a gate fails: on the worse side, or on both
    sides for equality."""
    if not margin:
        return []
    directions = {number.higher_is_better for number in numbers}
    limits = []
    if gate == "fail_unless_equal" or True in directions:
        limits.append(-margin)
    if gate == "fail_unless_equal" or False in directions:
        limits.append(margin)
    return limits


def comparison_tables(comparison: Comparison) -> Iterator[PivotTable]:
    """Yields the table of the differences, then those of the rankings."""
    groups = {row.task for row in comparison.rows if row.is_group}
    rows = []
    for number in comparison.numbers:
        if number.why != ONE_SIDED:
            is_group = number.task in groups
            href = "" if is_group else trials_link(number.task, number.slice)
            rows.append(_row(comparison, number, href))
    about = (
        "A row is a number, over the pairs of trials that have a score in both runs."
    )
    notes = [*notes_on_settings(comparison), *notes_on_tests(comparison, _SEEN)]
    yield PivotTable("Numbers", about, aligned(rows), tuple(notes))
    for table in tables_of_comparison(comparison)[1:]:
        yield _ranking(table)


def _row(comparison: Comparison, number: ComparedNumber, href: str) -> PivotRow:
    reference = comparison.names[0]
    difference, interval = "–", ""
    if number.difference is not None:
        difference = signed(number.difference)
    if number.ci95 is not None:
        interval = from_to(number.ci95, DIGITS)
    values = (
        ("pairs", f"{number.pairs:,}", ""),
        (reference, _text(number.a), ""),
        (number.run, _text(number.b), ""),
        ("difference", difference, interval),
        ("p", "–" if number.has_too_few else p_text(number.p_adjusted), ""),
    )
    cells = [
        PivotCell(label, value, interval=interval) for label, value, interval in values
    ]
    remarks = "; ".join(remarks_on(number, comparison))
    verdict = number.verdict_words
    if number.verdict == "not_seen" and number.smallest_seen is not None:
        verdict += f"; {_SEEN}: {number_text(number.smallest_seen)}"
    return PivotRow(
        name=number.title,
        cells=tuple(cells),
        href=href,
        detail=verdict,
        remark=printable(remarks, limit=_LONGEST),
    )


def _text(value: float | None) -> str:
    return "–" if value is None else number_text(value)


def _ranking(table: Table) -> PivotTable:
    """Returns a table of a ranking. Its first column has the names of the runs."""
    rows = []
    for name, *values in table.rows:
        cells = []
        for label, value in zip(table.headers[1:], values, strict=True):
            cells.append(PivotCell(label, shown(value, DIGITS) or "–"))
        rows.append(PivotRow(str(name), tuple(cells)))
    about = "A row is a run."
    return PivotTable(table.title, about, aligned(rows), table.notes)
