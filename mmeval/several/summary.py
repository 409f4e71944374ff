"""Formats the summary of several models: a row a task, a column a model.

Below the table are the models that cannot be distinguished, those that failed, and the
board file, which other commands read.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from mmeval.errors import EXIT_OK, MmevalError
from mmeval.records.score import Result
from mmeval.report.headline import headline_rows
from mmeval.report.short_table import number_text
from mmeval.results.board import Board, BoardRun, write_board
from mmeval.results.numbers import NumberRow, ResultsDocument, number_rows
from mmeval.results.stored_run import StoredRun
from mmeval.several.plans import CommandPlan, ModelPlan
from mmeval.several.runs import ModelRun
from mmeval.system.wording import listed, printable, wrapped

_GAP = "  "
_WIDEST_NAME = 30
_WIDEST_ROW = 44
_MOST_ROWS = 14
"""Number of rows above which members of groups have no row."""
_MOST_NAMED = 6
_LOST = "*"


def write_board_of(command: CommandPlan) -> list[ModelPlan]:
    """Writes the board file, with the models of the file that have results.

    Returns the plans of these models. Nothing is written if there are none.
    """
    with_results = []
    rows = []
    for plan in command.models:
        if next(plan.folder.glob("results_*.json"), None) is not None:
            with_results.append(plan)
            rows.append(BoardRun(plan.folder, plan.entry.name, plan.entry.group))
    if rows:
        write_board(command.board, Board("", tuple(rows)))
    return with_results


def summary_text(
    plans: Sequence[ModelPlan], runs: Sequence[ModelRun], board: Path, width: int
) -> str:
    """Returns the table of the models with results, and notes.

    ``runs`` are the models that this command ran.
    """
    lines: list[str] = []
    readable: list[ModelPlan] = []
    documents: list[ResultsDocument] = []
    for plan in plans:
        try:
            documents.append(StoredRun(plan.folder).results)
            readable.append(plan)
        except MmevalError as error:
            text = printable(f"{plan.entry.name}: {error}", limit=2_000)
            lines += wrapped(f"not readable  {text}", width, _GAP)
    if readable:
        names = _names(readable)
        rows = headline_rows(number_rows(documents, names))
        lines += _table(_shown(rows), names, width)
        notes = [
            *_notes(rows, _shown(rows)),
            *_earlier(readable, runs),
            *_ranks(readable, rows),
        ]
        for note in notes:
            lines += wrapped(printable(note, limit=2_000), width, _GAP)
        lines.append("")
    lines += reasons_of(runs, width)
    if plans:
        lines.append(f"board    {board}")
        if len(plans) > 1:
            lines.append(f"compare  mmeval compare {shlex.quote(str(board))}")
    return "".join(f"{line}\n" for line in lines)


def reasons_of(runs: Sequence[ModelRun], width: int) -> list[str]:
    """Returns the lines that state why models are not complete; none if all are."""
    lines: list[str] = []
    for model_run in runs:
        if model_run.exit_code != EXIT_OK:
            name = model_run.plan.entry.name
            reason = model_run.error or "some of its trials or scores are missing"
            text = printable(f"{name}: {reason}", limit=2_000)
            lines += wrapped(f"not complete  {text}", width, _GAP)
    return lines


def _shown(rows: Sequence[NumberRow]) -> list[NumberRow]:
    """Returns the rows that have a number; of many, those outside of groups."""
    known = [row for row in rows if row.is_known]
    if len(known) > _MOST_ROWS:
        return [row for row in known if not row.depth]
    return known


def _table(
    rows: Sequence[NumberRow], names: Sequence[str], width: int
) -> Iterator[str]:
    """Yields a band of columns after the other, as many models as fit in each."""
    if not rows:
        yield "There is no number."
        return
    first = [_row_name(row) for row in rows]
    first_width = max(map(len, first))
    columns = []
    for number, name in enumerate(names):
        cells = [printable(name, limit=_WIDEST_NAME)]
        cells += [_cell(row, number) for row in rows]
        columns.append(cells)
    bands = list(_bands(columns, width - first_width))
    for number, band in enumerate(bands):
        if number:
            yield ""
        for line, name in enumerate(["", *first]):
            text = f"{name:{first_width}}"
            for column in band:
                column_width = max(map(len, column))
                text += f"{_GAP}{column[line]:>{column_width}}"
            yield text.rstrip()


def _bands(columns: Sequence[list[str]], room: int) -> Iterator[list[list[str]]]:
    """Yields the columns of each band. A band has at least one column."""
    band: list[list[str]] = []
    used = 0
    for column in columns:
        needed = len(_GAP) + max(map(len, column))
        if band and used + needed > room:
            yield band
            band, used = [], 0
        band.append(column)
        used += needed
    yield band


def _row_name(row: NumberRow) -> str:
    indent = _GAP * min(row.depth, 3)
    metric = printable(row.metric, limit=_WIDEST_NAME)
    room = _WIDEST_ROW - len(indent) - len(metric) - len(", ")
    return f"{indent}{printable(row.alias, limit=room)}, {metric}"


def _cell(row: NumberRow, number: int) -> str:
    """Returns ``0.512 [0.48, 0.55]``: a value with its 95 % interval."""
    result = row.results[number]
    if result is None or result.value is None:
        return "-"
    text = number_text(result.value)
    if result.interval is not None:
        low, high = result.interval
        text += f" [{low:,.2f}, {high:,.2f}]"
    return text + _LOST if _has_lost(result) else text


def _has_lost(result: Result) -> bool:
    return result.failed + result.unscored > 0


def _notes(rows: Sequence[NumberRow], shown: Sequence[NumberRow]) -> Iterator[str]:
    results = [result for row in shown for result in row.results if result is not None]
    counts = {f"{result.n:,}" for result in results if not result.weights}
    has_interval = any(result.interval is not None for result in results)
    if has_interval:
        yield "In brackets: 95 % intervals."
    if len(counts) == 1:
        yield f"Samples of each task: {counts.pop()}."
    if any(map(_has_lost, results)):
        yield f"{_LOST}: some of its trials are lost."
    hidden = len([row for row in rows if row.is_known]) - len(shown)
    if hidden:
        yield f"Not listed: {hidden:,} members of groups."
    unlike = {reason for row in shown for reason in row.unlike if reason}
    if unlike:
        yield f"Not comparable: {listed(sorted(unlike), 3)}."


def _earlier(plans: Sequence[ModelPlan], runs: Sequence[ModelRun]) -> Iterator[str]:
    """Yields the models whose numbers this command did not make."""
    made = {run.plan.entry.name for run in runs if not run.error}
    earlier = [name for name in _names(plans) if name not in made]
    if earlier:
        yield f"From an earlier command: {listed(earlier, _MOST_NAMED)}."


def _ranks(plans: Sequence[ModelPlan], rows: Sequence[NumberRow]) -> Iterator[str]:
    """Yields which models cannot be distinguished by each number outside groups."""
    from mmeval.comparison.compare import compare

    tasks = [row.task for row in rows if row.is_known and not row.depth]
    if len(plans) < 2 or not tasks:
        return
    runs = [str(plan.folder) for plan in plans]
    try:
        comparison = compare(*runs, tasks=tasks)
    except MmevalError as error:
        yield f"The models cannot be compared: {error}"
        return
    name_of = dict(zip(comparison.names, _names(plans), strict=True))
    for number in comparison.numbers if len(plans) == 2 else ():
        verdict = number.verdict_words
        yield (
            f"{number.title}: {name_of[number.run]} against "
            f"{name_of[comparison.names[0]]}: {verdict}."
        )
    for ranking in comparison.rankings:
        title = f"{ranking.task}, {ranking.metric}"
        reasons = {ranked.why for ranked in ranking.runs}
        if "" not in reasons:
            yield f"{title}: {min(reasons)}."
            continue
        groups = []
        for group in ranking.groups:
            groups.append(", ".join(name_of[name] for name in group))
        yield f"{title}, groups from best to worst: {'; '.join(groups)}."


def _names(plans: Sequence[ModelPlan]) -> list[str]:
    return [plan.entry.name for plan in plans]
