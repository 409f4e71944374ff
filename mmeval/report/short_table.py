"""Formats the short table on stdout: one line for each group and task, at most 80
columns wide.

Below a headline are further numbers that were paid for. Below the table are notes on
all rows, and a list of what was not computed.
"""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mmeval.findings.render import RemedyTarget, command_lines, terminal_lines
from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.headline import headline_rows
from mmeval.report.listed_rows import (
    ListedRows,
    ListedTask,
    listed_rows,
    with_number,
)
from mmeval.report.markdown import text_width
from mmeval.results.numbers import NumberRow, ResultsDocument, number_rows
from mmeval.system.wording import listed, printable, wrapped

if TYPE_CHECKING:
    from mmeval.run.options import RunOutcome

Verdict = Literal["better", "worse", ""]

_MOST_NAMED = 3
_DEEPEST = 3
_HARD_SPACE = "\N{NO-BREAK SPACE}"
_COMMAND = "\N{WORD JOINER}"
"""Marks the row that the command continues. No other cell contains it, since it is not
printable."""


def short_table(
    document: ResultsDocument,
    outcome: RunOutcome,
    *,
    baseline: BaselineColumn | None,
    width: int,
) -> str:
    """Returns the numbers of a run, and the notes that a reader needs. ``document`` is
    the content of the results file; ``baseline`` is another run's column."""
    rows = number_rows([document], [""])
    rows = [row for row in rows if row.results[0] is not None]
    headlines = headline_rows(rows)
    shown = with_number(headlines)
    chosen = listed_rows(shown, rows, document)
    lines = _lines(chosen.tasks, baseline)
    place = RemedyTarget(run=shlex.quote(str(outcome.folder)))
    command = place.command("mmeval report {RUN}")
    words = [*_not_listed(chosen), *_about_all(headlines, shown, outcome)]
    verdicts = sorted({line.verdict for line in lines if line.verdict})
    if verdicts:
        words.insert(0, f"{', '.join(verdicts)}: beyond chance (95 %).")
    table = "There is no number.\n"
    if lines:
        table = _table(lines, outcome.model_name, baseline, command, width)
    notes = wrapped(" ".join(words), width)
    of_rows = [task.headline for task in chosen.tasks]
    for note in (*_lost(of_rows), *_without_option(of_rows, outcome)):
        notes += wrapped(note, width, indent="   ")
    notes += terminal_lines(outcome.table_findings, place, width)
    return "\n".join([table, *notes, ""]) if notes else table


def _not_listed(chosen: ListedRows) -> Iterator[str]:
    """Yields a sentence that counts what has no row in the table."""
    counts = []
    for alias, count in chosen.hidden_tasks.items():
        counts.append(f"{count:,} tasks of {printable(alias, limit=200)}")
    if chosen.hidden_numbers:
        counts.append(f"{chosen.hidden_numbers:,} further numbers of tasks")
    if counts:
        yield f"Not listed: {', '.join(counts)}."


@dataclass(frozen=True)
class _Line:
    """A row of the table: its texts, the indent of its name, and the verdict on the
    baseline. ``note`` states why trials have no score."""

    name: str
    numbers: tuple[str, ...] = ()
    depth: int = 0
    verdict: Verdict = ""
    note: str = ""


def _lines(tasks: Sequence[ListedTask], baseline: BaselineColumn | None) -> list[_Line]:
    lines = []
    metric = ""
    is_command_shown = False
    for task in tasks:
        row = task.headline
        depth = min(row.depth, _DEEPEST)
        # the name of the metric is left out if the task above has the same metric
        name = row.alias if row.metric == metric else f"{row.alias}, {row.metric}"
        lines.append(_line(row, name, depth, baseline))
        metric = row.metric
        # deeper than members of a group, so that numbers and members differ
        below = depth + 2
        for further in task.further:
            lines.append(_line(further, further.metric, below, baseline))
        if task.more:
            mark = "" if is_command_shown else f":{_COMMAND}"
            lines.append(_Line(f"{task.more:,} more{mark}", depth=below))
            is_command_shown = True
    return lines


def _line(
    row: NumberRow, name: str, depth: int, baseline: BaselineColumn | None
) -> _Line:
    (result,) = row.results
    assert result is not None
    # the interval, or the reason why it is missing if the reason fits into the cell
    interval = "-"
    if result.interval is not None:
        interval = " to ".join(map(number_text, result.interval))
    elif result.value is not None and _fits_the_cell(result.no_interval):
        interval = result.no_interval
    scored = f"{result.scored:,}/{result.n:,}"
    numbers = [number_text(result.value), interval, scored]
    against_other: Verdict = ""
    if baseline is not None:
        other = baseline.values.get(Key.of(result))
        numbers.append(number_text(other.value if other else None))
        if other is not None:
            against_other = verdict(result, other)
    note = _reasons(result, is_partial=any(row.partial))
    safe_name = printable(name, limit=200)
    return _Line(safe_name, tuple(numbers), depth, against_other, note)


def _reasons(result: Result, *, is_partial: bool) -> str:
    """Returns in brief why a number lacks trials or parts: ``refused 1, partial``.

    Unsupported trials are stated below the table, and unavailable metrics before the
    run.
    """
    refused = min(result.unscored, result.refused_verdicts + result.refused_unscored)
    counts = {
        "failed": result.failed,
        "refused": refused,
        "unscored": result.unscored - refused,
        "inapplicable": result.inapplicable,
    }
    words = [f"{reason} {count:,}" for reason, count in counts.items() if count]
    if is_partial:
        words.append("partial")
    return ", ".join(words)


def _fits_the_cell(reason: str) -> bool:
    return 0 < len(reason) <= len("0.000 to 1.000")


def _table(
    lines: Sequence[_Line],
    model: str,
    baseline: BaselineColumn | None,
    command: str,
    width: int,
) -> str:
    headers = [printable(model, limit=200), "score", "95 %", "scored"]
    if baseline is not None:
        headers.append(printable(baseline.header, limit=200))
    right_aligned = range(1, len(headers))
    if any(line.note for line in lines):
        headers.append("")
    rows: list[list[str]] = []
    for line in lines:
        numbers = [printable(cell, limit=200) for cell in line.numbers]
        if line.verdict:
            words = f"{line.verdict} than {numbers[-1]}"
            numbers[-1] = words.replace(" ", _HARD_SPACE)
        missing = [""] * (len(right_aligned) - len(numbers))
        notes = [line.note] if len(headers) > len(right_aligned) + 1 else []
        rows.append([line.name, *numbers, *missing, *notes])
    depths = [line.depth for line in lines]
    text_lines = _aligned(headers, rows, depths, right_aligned)
    if max(map(text_width, text_lines)) > width:
        text_lines = _folded(headers, rows, depths, right_aligned, width)
    drawn = []
    for text_line in text_lines:
        plain = text_line.replace(_HARD_SPACE, " ").rstrip()
        drawn += _with_command(plain, command, width)
    return "".join(f"{line}\n" for line in drawn)


def _aligned(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    depths: Sequence[int],
    right_aligned: Container[int],
) -> list[str]:
    """Returns the lines of a table that is as wide as its cells."""
    indented = [list(headers)]
    for row, depth in zip(rows, depths, strict=True):
        indented.append(["  " * depth + row[0], *row[1:]])
    columns: list[list[str]] = []
    for index, cells in enumerate(zip(*indented, strict=True)):
        widest = max(map(text_width, cells))
        column = []
        for cell in cells:
            space = " " * (widest - text_width(cell))
            column.append(space + cell if index in right_aligned else cell + space)
        columns.append(column)
    return ["  ".join(cells) for cells in zip(*columns, strict=True)]


def _folded(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    depths: Sequence[int],
    right_aligned: Container[int],
    width: int,
) -> list[str]:
    """Returns the lines of a table whose long cells continue below."""
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for index, header in enumerate(headers):
        justify: Literal["left", "right"] = "left"
        if index in right_aligned:
            justify = "right"
        table.add_column(Text(header), justify=justify, overflow="fold")
    for row, depth in zip(rows, depths, strict=True):
        name = Padding(Text(row[0]), (0, 0, 0, 2 * depth))
        table.add_row(name, *map(Text, row[1:]))
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, legacy_windows=False)
    console.print(table)
    return file.getvalue().splitlines()


def _with_command(line: str, command: str, width: int) -> list[str]:
    """Returns a line of the table. The command replaces the mark of ``3 more:``."""
    if _COMMAND not in line:
        return [line]
    start = line.replace(_COMMAND, "").rstrip()
    if len(f"{start} {command}") <= width:
        return [f"{start} {command}"]
    indent = " " * (len(start) - len(start.lstrip()) + 2)
    return [start, *command_lines(command, indent, width)]


def number_text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def verdict(result: Result, other: Result) -> Verdict:
    """Returns ``better`` or ``worse`` than another run's number, or else an empty
    string.

    The 95 % interval of the difference must exclude 0. This interval is computed from
    the intervals of both numbers, as if their samples were independent (Zou and Donner
    2008). Such an interval is too wide if both runs used the same samples.
    """
    if result.value is None or result.interval is None:
        return ""
    if other.value is None or other.interval is None:
        return ""
    result_low, result_high = result.interval
    other_low, other_high = other.interval
    difference = result.value - other.value
    below = math.hypot(result.value - result_low, other_high - other.value)
    above = math.hypot(result_high - result.value, other.value - other_low)
    low, high = difference - below, difference + above
    if low <= 0 <= high:
        return ""
    return "better" if (low > 0) == result.higher_is_better else "worse"


def _about_all(
    rows: Sequence[NumberRow], shown: Sequence[NumberRow], outcome: RunOutcome
) -> Iterator[str]:
    """Yields notes on the numbers of all tasks, or of the named tasks."""
    selection = outcome.selection
    informed = [task.alias for task in selection if task.uses_reference]
    if len(informed) == len(selection.tasks):
        yield "The prompt uses reference information."
    elif informed:
        yield f"The prompt uses reference information: {_listed_names(informed)}."

    # the tasks that count in groups, and the groups with a mean over only some members
    weighed: set[tuple[str, str]] = set()
    means = []
    members = {group.name: len(group.members) for group in selection.groups}
    for row in shown:
        (result,) = row.results
        if not row.is_group or result is None:
            continue
        if result.value is not None:
            weighed.update((name, row.metric) for name in result.weights)
        count = len(result.weights)
        if 0 < count < members.get(row.task, 0):
            means.append(f"{row.alias} {count} of {members[row.task]}")
    not_shown = [row for row in rows if row not in shown]
    zeros = [row.alias for row in not_shown if (row.task, row.metric) in weighed]
    without = [row.alias for row in not_shown if not row.is_group]
    if zeros:
        cause = "Counted as 0 in a group, as the model does not support it"
        yield f"{cause}: {_listed_names(zeros)}."
    if means:
        yield f"Mean of some tasks only: {_listed_names(means)}."
    if shown and without:
        are_few = len(without) <= _MOST_NAMED
        tasks = _listed_names(without) if are_few else f"{len(without):,}"
        yield f"Tasks without a number: {tasks}."
    yield from _without_interval(shown)


def _without_interval(shown: Sequence[NumberRow]) -> Iterator[str]:
    """Yields the reasons why numbers have no interval. Each reason is yielded once, if
    it does not fit into the table."""
    names: dict[str, list[str]] = {}
    for row in shown:
        (result,) = row.results
        assert result is not None
        reason = result.no_interval
        if result.value is None or result.interval is not None or not reason:
            continue
        if not _fits_the_cell(reason):
            names.setdefault(reason, []).append(row.alias)
    for reason, aliases in names.items():
        tasks = _listed_names(aliases)
        yield f"No interval of {tasks}: {printable(reason, limit=200)}."


def _listed_names(names: Iterable[str]) -> str:
    return listed([printable(name, limit=200) for name in names], _MOST_NAMED)


def _lost(rows: Sequence[NumberRow]) -> Iterator[str]:
    """Yields a line on each of the first numbers with lost trials: the values that it
    may have with them."""
    lost = []
    for row in rows:
        (result,) = row.results
        assert result is not None
        has_lost = result.failed + result.unscored > 0
        is_known = result.scored > 0 and not row.is_group
        if has_lost and is_known and result.bounds is not None:
            lost.append((row, result, result.bounds))
    for row, result, bounds in lost[:_MOST_NAMED]:
        low, high = map(number_text, bounds)
        name = printable(row.alias, limit=200)
        words = f"{name}: with the lost trials, {row.metric} is between {low}"
        words += f" and {high}"
        if result.bounds_ci95 is not None:
            words += ", which the interval covers"
        yield f"{words}."
    more = len(lost) - _MOST_NAMED
    if more > 0:
        yield f"{more:,} more tasks have lost trials."


def _without_option(rows: Sequence[NumberRow], outcome: RunOutcome) -> Iterator[str]:
    """Yields a line on the answers that name no option. For each task, the metric that
    found most of them counts."""
    whole = [result for result in outcome.results if not result.slice]
    names = []
    count = trials = 0
    for row in rows:
        results = [result for result in whole if result.task == row.task]
        most = max((result.no_option for result in results), default=0)
        if most:
            names.append(row.alias)
            count += most
            trials += max(result.n for result in results)
    if names:
        yield (
            f"{_listed_names(names)}: no option {count:,}/{trials:,}, scored as wrong; "
            "--log_samples shows what was read from each answer."
        )
