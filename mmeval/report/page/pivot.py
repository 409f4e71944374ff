"""Builds the tables of numbers: tasks and metrics of a run, models and tasks of
several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from mmeval.records.score import Key
from mmeval.report.baseline import BaselineColumn
from mmeval.report.headline import headline_rows
from mmeval.report.page.headlines import DIGITS, outermost
from mmeval.report.page.links import link
from mmeval.results.notes import from_to
from mmeval.results.numbers import NumberRow, ResultsDocument

MOST_COLUMNS = 12
"""The largest number of columns of models and tasks. With more tasks, only those that
no group contains are shown."""
_MOST_SIDE_BY_SIDE = 6
"""The number of cells that fit into one line of a page that is 1,280 pixels wide."""
_STATUSES = ("failed", "unscored", "unavailable", "inapplicable", "unsupported")


@dataclass(frozen=True)
class PivotCell:
    """A number below its ``label``. ``better`` is ``up``, ``down`` or empty. ``note``
    contains the counts and remarks that are special to this number. ``beside`` is the
    number of the baseline."""

    label: str
    value: str
    better: str = ""
    interval: str = ""
    note: str = ""
    beside: str = ""
    is_best: bool = False


@dataclass(frozen=True)
class PivotRow:
    """The cells of a task, a model or a slice. ``detail`` applies to all cells, and so
    does ``remark``, which is long. ``has_labels_above`` is True if the labels are those
    of the row above. ``folds`` are shown after a click."""

    name: str
    cells: tuple[PivotCell, ...]
    href: str = ""
    depth: int = 0
    version: str = ""
    detail: str = ""
    remark: str = ""
    has_labels_above: bool = False
    folds: tuple[PivotFold, ...] = ()


@dataclass(frozen=True)
class PivotFold:
    """Rows that are shown after a click on the ``title``."""

    title: str
    rows: tuple[PivotRow, ...]


@dataclass(frozen=True)
class PivotTable:
    """A table with one sentence ``about`` what it shows, and ``notes`` below it."""

    title: str
    about: str
    rows: tuple[PivotRow, ...]
    notes: tuple[str, ...] = ()


def pivot_tables(
    rows: Sequence[NumberRow],
    names: Sequence[str],
    *,
    cautions: Mapping[str, str] = MappingProxyType({}),
    uncounted: bool = False,
    baseline: BaselineColumn | None = None,
) -> list[PivotTable]:
    """Returns the tables of the rows with a value, or an empty list without any.

    The ``cautions`` on the metrics of the rows are below the last table. If the samples
    include ``uncounted`` trials, the links exclude these trials.
    """
    known = [row for row in rows if row.is_known]
    if not known:
        return []
    if len(names) == 1:
        tables = [_of_run(known, uncounted=uncounted, baseline=baseline)]
    else:
        # more of what is not correctness is not better
        unmarked = frozenset(cautions)
        tables = [_of_models(known, names, unmarked)]
        tables += _of_tasks(known, names, unmarked, uncounted=uncounted)
    notes = []
    for metric in dict.fromkeys(row.metric for row in known):
        if metric in cautions:
            notes.append(f"{metric}: {cautions[metric]}")
    tables[-1] = replace(tables[-1], notes=tuple(notes))
    return tables


def cautions_of(documents: Iterable[ResultsDocument]) -> dict[str, str]:
    """Returns what the metrics in results files do not measure, by metric."""
    cautions = {}
    for document in documents:
        for metrics in document.get("mmeval", {}).get("metrics", {}).values():
            for name, metric in metrics.items():
                for output in metric.get("outputs", (name,)):
                    if metric.get("caution"):
                        cautions[output] = str(metric["caution"])
    return cautions


def _of_run(
    rows: Sequence[NumberRow], *, uncounted: bool, baseline: BaselineColumn | None
) -> PivotTable:
    """Returns the table of tasks and metrics of one run."""
    usual = _usual_count(rows)
    by_task: dict[str, list[NumberRow]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    entries = []
    for task_rows in by_task.values():
        whole = [row for row in task_rows if not row.slice]
        folds = []
        for label, slices in _by_label(task_rows).items():
            levels = []
            for level_rows in slices.values():
                entry = _entry(level_rows, 0, baseline, uncounted=uncounted)
                levels.append(replace(entry, depth=0))
            folds.append(PivotFold(_fold_title(label, levels), aligned(levels)))
        # without a value over all samples, the slices are below the bare name
        entry = PivotRow(task_rows[0].alias, ())
        if whole:
            entry = _entry(whole, usual, baseline, uncounted=uncounted)
        entries.append(replace(entry, folds=tuple(folds)))
    about = "A row is a task and a cell one of its metrics, with the 95 % interval"
    about += f"; over {usual:,} trials, unless the row states another count."
    return PivotTable("Numbers", about, aligned(entries))


def _of_models(
    rows: Sequence[NumberRow], names: Sequence[str], unmarked: frozenset[str]
) -> PivotTable:
    """Returns the table of models and tasks, with the headline metric of each task."""
    columns = [row for row in headline_rows(rows) if row.is_known]
    if len(columns) > MOST_COLUMNS:
        columns = outermost(columns)
    labels = [f"{row.alias}, {row.metric}" for row in columns]
    about = (
        "A row is a model and a cell the main metric of a task, with its 95 % "
        "interval. The best value of each task is marked, even if chance could explain "
        "it: mmeval compare tests the differences."
    )
    entries = _model_rows(columns, names, labels, unmarked)
    return PivotTable("Models and tasks", about, entries)


def _of_tasks(
    rows: Sequence[NumberRow],
    names: Sequence[str],
    unmarked: frozenset[str],
    *,
    uncounted: bool,
) -> list[PivotTable]:
    """Returns a table of models and metrics for each task that has several metrics or
    slices."""
    by_task: dict[str, list[NumberRow]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    tables = []
    for task_rows in by_task.values():
        whole = [row for row in task_rows if not row.slice]
        if len(task_rows) == 1 or not whole:
            continue
        labels = [row.metric for row in whole]
        models = list(_model_rows(whole, names, labels, unmarked))
        folds = []
        for label, slices in _by_label(task_rows).items():
            levels: list[PivotRow] = []
            for level, level_rows in slices.items():
                labels = [row.metric for row in level_rows]
                href = link(level_rows[0], uncounted=uncounted)
                for entry in _model_rows(level_rows, names, labels, unmarked):
                    name = f"{level}: {entry.name}"
                    levels.append(replace(entry, name=name, href=href))
            folds.append(PivotFold(_fold_title(label, slices), aligned(levels)))
        models[-1] = replace(models[-1], folds=tuple(folds))
        about = (
            "A row is a model and a cell a metric of this task, with its 95 % interval."
        )
        tables.append(PivotTable(whole[0].alias, about, tuple(models)))
    return tables


def _by_label(rows: Iterable[NumberRow]) -> dict[str, dict[str, list[NumberRow]]]:
    """Returns the rows of slices by the label of the samples and its values."""
    by_label: dict[str, dict[str, list[NumberRow]]] = {}
    for row in rows:
        if row.slice:
            label, _, level = row.slice.partition("=")
            by_label.setdefault(label, {}).setdefault(level, []).append(row)
    return by_label


def _fold_title(label: str, levels: Sequence[object] | Mapping[str, object]) -> str:
    return f"By {label}: {len(levels):,}"


def _entry(
    rows: Sequence[NumberRow],
    usual: int,
    baseline: BaselineColumn | None,
    *,
    uncounted: bool,
) -> PivotRow:
    """Returns the row of a task or slice of one run. ``usual`` is the number of trials
    that is not stated."""
    first = rows[0]
    details = []
    counts = [row.results[0].n for row in rows if row.results[0] is not None]
    count = max(counts, default=usual)
    if count != usual:
        details.append("1 trial" if count == 1 else f"{count:,} trials")
    # the words that all numbers of the row share are stated once
    words = [_words(row, 0) for row in rows]
    shared = [note for note in words[0] if all(note in notes for notes in words)]
    if len(rows) > 1:
        details += shared
    cells = []
    for row, notes in zip(rows, words, strict=True):
        special = [note for note in notes if len(rows) == 1 or note not in shared]
        cells.append(_cell(row, 0, row.metric, special, baseline))
    return PivotRow(
        name=first.slice.partition("=")[2] or first.alias,
        cells=tuple(cells),
        href=link(first, uncounted=uncounted),
        depth=first.depth,
        version=first.version,
        detail="; ".join(details),
    )


def _model_rows(
    columns: Sequence[NumberRow],
    names: Sequence[str],
    labels: Sequence[str],
    unmarked: frozenset[str],
) -> tuple[PivotRow, ...]:
    """Returns a row for each model. ``labels`` are the labels of the columns. The best
    value is marked, except for the ``unmarked`` metrics."""
    best: list[frozenset[int]] = []
    for row in columns:
        best.append(frozenset() if row.metric in unmarked else _best(row))
    entries = []
    for run, name in enumerate(names):
        cells = []
        for row, label, best_runs in zip(columns, labels, best, strict=True):
            words = _words(row, run)
            if run and row.unlike[run - 1] and row.results[run] is not None:
                words.append(f"not comparable with {names[0]}: {row.unlike[run - 1]}")
            cell = _cell(row, run, label, words)
            cells.append(replace(cell, is_best=run in best_runs))
        entries.append(PivotRow(name, tuple(cells)))
    return aligned(entries)


def _best(row: NumberRow) -> frozenset[int]:
    """Returns the runs with the best value, among those that are comparable with the
    first run. The result is empty if fewer than two are comparable, or if all are
    equal."""
    values: dict[int, float] = {}
    for run, result in enumerate(row.results):
        is_comparable = run == 0 or not row.unlike[run - 1]
        if is_comparable and result is not None and result.value is not None:
            values[run] = result.value
    if len(set(values.values())) < 2:
        return frozenset()
    best = max(values.values()) if row.higher_is_better else min(values.values())
    return frozenset(run for run, value in values.items() if value == best)


def _cell(
    row: NumberRow,
    run: int,
    label: str,
    words: Sequence[str],
    baseline: BaselineColumn | None = None,
) -> PivotCell:
    result = row.results[run]
    better = "up" if row.higher_is_better else "down"
    note = "; ".join(words)
    if result is None or result.value is None:
        return PivotCell(label, row.absent[run] or "–", better, note=note)
    interval = ""
    if result.interval is not None:
        interval = from_to(result.interval, DIGITS)
    elif result.bounds is not None and (result.failed or result.unscored):
        interval = f"between {from_to(result.bounds, DIGITS)}"
    beside = ""
    if baseline is not None:
        other = baseline.values.get(Key(row.task, row.metric, row.slice))
        if other is not None:
            beside = f"{baseline.header} {other.value:.{DIGITS}f}"
    value = f"{result.value:.{DIGITS}f}"
    return PivotCell(label, value, better, interval, note, beside)


def _words(row: NumberRow, run: int) -> list[str]:
    """Returns what a reader needs to know about one number, besides its interval."""
    result, notes = row.results[run], row.own_notes[run]
    words = []
    if result is not None and result.scored != result.n:
        counts = []
        for status in _STATUSES:
            count = getattr(result, status)
            if count:
                counts.append(f"{count:,} {status}")
        scored = f"{result.scored:,} of {result.n:,} scored"
        words.append(f"{scored}: {', '.join(counts)}" if counts else scored)
    if result is not None and result.suspended:
        words.append("scoring suspended")
    others = (
        notes.no_option,
        notes.no_interval,
        notes.refused,
        notes.weights,
        notes.comparable,
        notes.reference,
        notes.reasons,
        notes.unfinished,
        notes.subset,
        notes.left_out,
    )
    return words + [note for note in others if note]


def _usual_count(rows: Sequence[NumberRow]) -> int:
    """Returns the number of trials of most numbers over all samples."""
    counts: Counter[int] = Counter()
    for row in rows:
        result = row.results[0]
        if result is not None and not row.slice:
            counts[result.n] += 1
    return counts.most_common(1)[0][0] if counts else 0


def aligned(rows: Sequence[PivotRow]) -> tuple[PivotRow, ...]:
    """Marks the rows with the same labels as the row above, if a row has several cells
    that fit into one line."""
    marked = []
    above: list[str] | None = None
    for row in rows:
        labels = [cell.label for cell in row.cells]
        is_same = labels == above and 1 < len(labels) <= _MOST_SIDE_BY_SIDE
        marked.append(replace(row, has_labels_above=is_same))
        # what is unfolded below a row separates it from the next row
        above = None if row.folds else labels
    return tuple(marked)
