"""Formats the short table on stdout: one line for each group and task, at most 80
columns wide.

Below the table are notes on all rows, a list of what was not computed, and the commands
to use next.
"""

from __future__ import annotations

import io
import json
import math
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mmeval.findings.render import RemedyTarget, terminal_lines
from mmeval.records.score import Key, Result
from mmeval.report.baseline import BaselineColumn
from mmeval.report.headline import headline_rows
from mmeval.results.notes import is_none
from mmeval.results.numbers import NumberRow, ResultsDocument, number_rows
from mmeval.run.availability import task_words, unavailable_findings
from mmeval.run.options import RunOutcome
from mmeval.run.suspension import role_words, scoring_roles
from mmeval.settings.report_options import ReportContext
from mmeval.system.wording import listed, printable

_LABEL = 9
"""The width of the labels of the last lines."""
_MOST_NAMED = 3
_HARD_SPACE = "\N{NO-BREAK SPACE}"
_OF_THE_NUMBERS = (
    "data",
    "data_dir",
    "limit",
    "offset",
    "samples",
    "sample_shuffle",
    "stratify",
    "repeats",
    "seed",
    "protocol",
    "gen_kwargs",
    "system_instruction",
    "profile",
    "refusals",
    "metric_args",
    "skip_metric",
    "judge_prompts",
)
"""The flags that another run must repeat to use the same samples, prompts and scoring.
"""


def short_table(
    document: ResultsDocument,
    outcome: RunOutcome,
    *,
    baseline: BaselineColumn | None,
    width: int,
) -> str:
    """Returns the numbers of a run, and the notes that a reader needs. ``document`` is
    the content of the results file; ``baseline`` is another run's column."""
    rows = headline_rows(number_rows([document], [""]))
    rows = [row for row in rows if row.results[0] is not None]
    shown = _shown(rows)
    lines = []
    metric = ""
    for row in shown:
        lines.append(_Line.of(row, metric, baseline))
        metric = row.metric
    words = list(_about_all(rows, shown, outcome))
    verdicts = sorted({line.verdict for line in lines if line.verdict})
    if verdicts:
        words.insert(0, f"{', '.join(verdicts)}: beyond chance (95 %).")
    table = "There is no number.\n"
    if lines:
        table = _table(lines, outcome.model_name, baseline, width)
    notes = _wrapped(" ".join(words), width)
    for note in _notes(shown, outcome):
        notes += _wrapped(note, width, indent="   ")
    place = RemedyTarget(run=shlex.quote(str(outcome.folder)))
    notes += terminal_lines(outcome.table_findings, place, width)
    return "\n".join([table, *notes, ""]) if notes else table


def _wrapped(
    text: str,
    width: int,
    indent: str = "",
) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _shown(rows: Sequence[NumberRow]) -> list[NumberRow]:
    """Returns the rows with a number, and the groups that contain them."""
    shown: list[NumberRow] = []
    depths: set[int] = set()
    for row in reversed(rows):
        (result,) = row.results
        # the row has a number, or a lost number that scoring again may compute
        has_number = False
        if result is not None and not is_none(result):
            has_number = result.value is not None or result.failed + result.unscored > 0
        if has_number or max(depths, default=0) > row.depth:
            shown.append(row)
            depths.add(row.depth)
        depths = {depth for depth in depths if depth <= row.depth}
    return shown[::-1]


class _Line(NamedTuple):
    """A row of the table: its texts, the indent of its name, and the verdict ``better``
    or ``worse``."""

    cells: tuple[str, ...]
    depth: int
    verdict: str

    @classmethod
    def of(
        cls,
        row: NumberRow,
        metric_above: str,
        baseline: BaselineColumn | None,
    ) -> _Line:
        """Make a row. The name of the metric is left out if the row above has the same
        metric."""
        (result,) = row.results
        assert result is not None
        name = row.alias if row.metric == metric_above else f"{row.alias}, {row.metric}"
        # the interval, or the reason why it is missing if the reason fits into the cell
        interval = "-"
        if result.interval is not None:
            interval = " to ".join(map(number_text, result.interval))
        elif result.value is not None and _fits_the_cell(result.no_interval):
            interval = result.no_interval
        scored = f"{result.scored:,}/{result.n:,}"
        cells = [name, number_text(result.value), interval, scored]
        against_other = ""
        if baseline is not None:
            other = baseline.values.get(Key.of(result))
            cells.append(number_text(other.value if other else None))
            if other is not None:
                against_other = verdict(result, other)
        return cls(tuple(cells), min(row.depth, 3), against_other)


def _fits_the_cell(reason: str) -> bool:
    return 0 < len(reason) <= len("0.000 to 1.000")


def _table(
    lines: Sequence[_Line], model: str, baseline: BaselineColumn | None, width: int
) -> str:
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    table.add_column(Text(printable(model, limit=200)), overflow="fold")
    headers = ["score", "95 %", "scored"]
    if baseline is not None:
        headers.append(baseline.header)
    for header in headers:
        text = Text(printable(header, limit=200))
        table.add_column(text, justify="right", overflow="fold")
    verdicts = max(len(line.verdict) for line in lines)
    for line in lines:
        name, *numbers = [printable(cell, limit=200) for cell in line.cells]
        if verdicts:  # padded to one width, so that the numbers before them align
            numbers[-1] += f" {line.verdict:{verdicts}}".replace(" ", _HARD_SPACE)
        indented = Padding(Text(name), (0, 0, 0, 2 * line.depth))
        table.add_row(indented, *map(Text, numbers))
    file = io.StringIO()
    console = Console(file=file, width=width, color_system=None, legacy_windows=False)
    console.print(table)
    drawn = file.getvalue().replace(_HARD_SPACE, " ").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in drawn)


def number_text(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}"


def verdict(result: Result, other: Result) -> str:
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


def _notes(shown: Sequence[NumberRow], outcome: RunOutcome) -> Iterator[str]:
    """Yields one line with the lost trials of each number. Then yields, for each task,
    the number of answers that name no option, according to the metric that found most
    of them."""
    for row in shown:
        (result,) = row.results
        assert result is not None
        lost = result.failed + result.unscored
        if lost and result.scored and result.bounds is not None and not row.is_group:
            low, high = map(number_text, result.bounds)
            name = printable(row.alias, limit=200)
            words = f"{name}: {lost:,} failed or unscored, {row.metric} between {low}"
            words += f" and {high}"
            if result.bounds_ci95 is not None:
                words += ", which the interval covers"
            yield f"{words}."
    whole = [result for result in outcome.results if not result.slice]
    for row in shown:
        results = [result for result in whole if result.task == row.task]
        count = max((result.no_option for result in results), default=0)
        if count:
            trials = max(result.n for result in results)
            name = printable(row.alias, limit=200)
            yield (
                f"{name}: no option {count:,}/{trials:,}, scored as wrong; "
                "--log_samples shows what was read from each answer."
            )


def last_lines(
    outcome: RunOutcome,
    context: ReportContext,
    *,
    results: Path,
    page: Path | None,
    width: int,
) -> str:
    """Returns the paths of a run's page and results file, and the commands to use
    next."""
    folder = shlex.quote(str(outcome.folder))
    selection = outcome.selection
    settings = context.settings
    words = shlex.split(task_words(settings, selection))
    tasks = [shlex.quote(word) for word in words]
    layout_names = [group.layout for group in selection.groups]
    layout_names += [task.layout for task in selection.tasks]
    layouts = ",".join(dict.fromkeys(filter(None, layout_names)))
    again = []
    for flag in _OF_THE_NUMBERS:
        value = settings.get(flag)
        if not value:
            continue
        if isinstance(value, list):
            value = ",".join(map(str, value))
        elif isinstance(value, dict):
            value = json.dumps(value)
        again.append(f"--{flag} {shlex.quote(str(value))}")
    for role in scoring_roles(selection.tasks, outcome.roles):
        again.append(f"--role {shlex.quote(role_words(role, outcome.roles[role]))}")

    lines: list[tuple[str, list[str]]] = []
    if page is not None:
        lines.append(("page", [str(page)]))
    lines.append(("results", [str(results)]))
    if layouts:
        lines.append(("tables", [f"mmeval report {folder}", f"--layout {layouts}"]))
    lines.append(("more", [f"mmeval report {folder}", "--format markdown"]))
    # metrics that the user has skipped are not missing
    if any(finding.kind != "partial" for finding in unavailable_findings(selection)):
        lines.append(("missing", ["mmeval check", *tasks]))
    if settings.get("data") == "bundled":
        lines.append(("data", ["mmeval prepare", *tasks]))
    ending = [f"--baseline {folder}", "--model BACKEND"]
    lines.append(("next", ["mmeval --tasks", *tasks, *again, *ending]))
    laid = [_laid(label, parts, width) for label, parts in lines]
    return "\n" + "".join(f"{line}\n" for line in laid)


def _laid(
    label: str,
    words: Sequence[str],
    width: int,
) -> str:
    """Formats a label with a path, which is never broken, or with a command that
    continues on the next line after a backslash."""
    lines = [f"{label:{_LABEL}}{words[0]}"]
    if len(lines[0]) > width and not words[1:]:
        return f"{label}\n  {words[0]}"
    for word in words[1:]:
        # a space before it, and a space and a backslash after it
        if len(lines[-1]) + len(word) <= width - 3:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{'':{_LABEL}}{word}")
    return " \\\n".join(lines)
