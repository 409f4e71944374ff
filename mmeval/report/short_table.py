"""The short table on stdout: one line a group and task, in at most 80 columns.

What holds for all rows stands once below it, with what was not computed and where to look next.
"""

from __future__ import annotations

import io
import math
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
from mmeval.report.headline import headline_rows
from mmeval.report.notes import is_none
from mmeval.report.numbers import NumberRow, ResultsDocument, number_rows
from mmeval.run.availability import remedies, task_words
from mmeval.run.options import RunOutcome
from mmeval.settings.report_options import ReportContext
from mmeval.wording import counted, printable, some

WIDEST, NARROWEST = 80, 40
"""Columns of the table: those of the terminal between these."""
_LABEL = 9
"""Columns of the words before the last lines."""
_MOST_NAMED = 3


def short_table(
    document: ResultsDocument, outcome: RunOutcome, context: ReportContext, *, baseline: Column | None, width: int
) -> str:
    """The numbers of a run, and below them what a reader has to know.
    ``document`` is the results file's content, ``baseline`` another run's column."""
    rows = [row for row in headline_rows(number_rows([document], [""])) if row.results[0] is not None]
    shown = [row for row in rows if not is_none(row.results[0])]
    notes = [
        line
        for note in (*_legend(shown, baseline), *_notes(document, rows, shown, outcome, context))
        for line in textwrap.wrap(note, width, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False)
    ]
    table = _table(shown, outcome.model_name, baseline, width) if shown else "There is no number.\n"
    return "\n".join([table, *notes, ""]) if notes else table


def _table(rows: Sequence[NumberRow], model: str, baseline: Column | None, width: int) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column(Text(printable(model, limit=200)), overflow="fold")
    for header in ("score", "95 %", "scored", *([baseline.header] if baseline else [])):
        table.add_column(Text(printable(header, limit=200)), justify="right", overflow="fold")
    for row, before in zip(rows, [None, *rows], strict=False):
        table.add_row(*map(Text, _cells(row, before, baseline)))
    file = io.StringIO()
    Console(file=file, width=width, color_system=None, legacy_windows=False).print(table)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _cells(row: NumberRow, before: NumberRow | None, baseline: Column | None) -> list[str]:
    """A row's texts; the metric is left out where it is that of the row above."""
    (result,) = row.results
    assert result is not None
    metric = "" if before is not None and before.metric == row.metric else f", {row.metric}"
    name = " " * min(2 * row.depth, 6) + printable(f"{row.alias}{metric}", limit=200)
    interval = "" if result.ci95 is None else f"{_number(result.ci95[0])} to {_number(result.ci95[1])}"
    cells = [name, _number(result.value), interval, f"{result.scored:,}/{result.n:,}"]
    if baseline is not None:
        other = baseline.values.get(Key.of(result))
        cells.append("" if other is None else f"{_number(other.value)} {verdict(result, other):6}".rstrip())
    return cells


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def verdict(result: Result, other: Result) -> str:
    """``better`` or ``worse`` than another run's number, else empty.

    The 95 % interval of the difference must leave out 0. It is made of the intervals of both numbers, as if their
    samples were independent (Zou and Donner 2008); for two runs over the same samples it is too wide.
    """
    if result.value is None or other.value is None or result.ci95 is None or other.ci95 is None:
        return ""
    difference = result.value - other.value
    low = difference - math.hypot(result.value - result.ci95[0], other.ci95[1] - other.value)
    high = difference + math.hypot(result.ci95[1] - result.value, other.value - other.ci95[0])
    if low <= 0 <= high:
        return ""
    return "better" if (low > 0) == result.higher_is_better else "worse"


def _legend(rows: Sequence[NumberRow], baseline: Column | None) -> Iterator[str]:
    """What the verdicts that stand in the table mean."""
    own = [result for row in rows for result in row.results if result is not None]
    others = [baseline.values.get(Key.of(result)) if baseline else None for result in own]
    words = {verdict(result, other) for result, other in zip(own, others, strict=True) if other is not None} - {""}
    if baseline and words:
        than = f"{' or '.join(sorted(words))} than {printable(baseline.header, limit=200)}"
        yield f"{than}: beyond chance, by the 95 % interval of the difference."


def _notes(
    document: ResultsDocument,
    rows: Sequence[NumberRow],
    shown: Sequence[NumberRow],
    outcome: RunOutcome,
    context: ReportContext,
) -> Iterator[str]:
    """What the table leaves out, one line each."""
    yield from _about_all(document, shown, outcome)
    for row in shown:
        (result,) = row.results
        assert result is not None
        lost = result.failed + result.unscored
        if lost and result.value is not None and result.bounds is not None and not row.is_group:
            low, high = map(_number, result.bounds)
            them = "it" if lost == 1 else "them"
            yield f"{row.alias}: {lost:,} failed or unscored; with {them} {row.metric} lies in {low} to {high}."
    selection = outcome.selection
    if parts := [*_means_of_a_part(shown, {group.name: len(group.members) for group in selection.groups})]:
        yield f"Means over a part of the members: {some(parts, _MOST_NAMED)}."
    if without := [row.alias for row in rows if not row.is_group and is_none(row.results[0])]:
        names = f": {some(without, _MOST_NAMED)}" if len(without) <= _MOST_NAMED else ""
        yield f"{counted(len(without), 'task')} without a number{names}."
    if found := [*remedies(selection, task_words(context.settings, selection))]:
        yield f"Missing here; with it, mmeval score {shlex.quote(str(outcome.folder))} adds the numbers:"
        yield from (f"  {remedy}" for remedy in found)


def _means_of_a_part(rows: Sequence[NumberRow], members: dict[str, int]) -> Iterator[str]:
    """The groups of which some members have no number, so that they count nothing."""
    for row in rows:
        (result,) = row.results
        if row.is_group and result is not None and 0 < len(result.weights) < members.get(row.task, 0):
            yield f"{row.alias} {len(result.weights)} of {members[row.task]}"


def _about_all(document: ResultsDocument, shown: Sequence[NumberRow], outcome: RunOutcome) -> Iterator[str]:
    """What holds for the numbers of all tasks, or of those that are named."""
    ours = document["mmeval"]
    bundled = ours["settings"].get("data") == "bundled"
    why = "Bundled samples" if bundled else "A metric or its data stand in for the benchmark's"
    everywhere = {task.name for task in outcome.selection.tasks}
    partial = [row.task for row in shown if any(row.partial) and not row.is_group]
    for tasks, what in (
        (ours["not_comparable"], f"{why}: no number compares with a paper's"),
        ([*ours["subset"]], "Only a part of the samples was asked"),
        ([*ours["unfinished"]], "Not all trials are made"),
        ([*ours["left_out"]], "Left out, as the data are not here"),
        (partial, "Made without some of its pieces"),
    ):
        if everywhere.issubset(tasks):
            yield f"{what}."
        elif tasks:
            yield f"{what}: {some(tasks, _MOST_NAMED)}."


def last_lines(outcome: RunOutcome, context: ReportContext, *, results: Path, page: Path | None, width: int) -> str:
    """Where a run's page and results file lie, and the commands that go on from here."""
    folder = shlex.quote(str(outcome.folder))
    selection = outcome.selection
    tasks = task_words(context.settings, selection)
    named = [*(group.layout for group in selection.groups), *(task.layout for task in selection.tasks)]
    layouts = [*dict.fromkeys(filter(None, named))]
    others = f"  (or {', '.join(layouts[1:])})" if layouts[1:] else ""
    lines = [
        *([("page", str(page))] if page else []),
        ("results", str(results)),
        *([("tables", f"mmeval report {folder} --layout {layouts[0]}{others}")] if layouts else []),
        ("more", f"mmeval report {folder} --format markdown"),
    ]
    if context.settings.get("data") == "bundled":
        lines.append(("data", f"mmeval prepare {tasks}"))
    else:
        lines.append(("next", f"mmeval --tasks {tasks} --baseline {folder} --model NAME"))
    return "\n" + "".join(
        " \\\n".join(
            textwrap.wrap(
                f"{label:{_LABEL}}{text}",
                width - 2,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        )
        + "\n"
        for label, text in lines
    )
