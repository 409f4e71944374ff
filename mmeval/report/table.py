"""The tables on stdout: Markdown, one row a number, with its uncertainty and what stands behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from mmeval.dataset.sampling import Subset
from mmeval.records.score import Key, Result
from mmeval.report.baseline import Column
from mmeval.report.markdown import cell, table_lines
from mmeval.report.notes import (
    NOT_COMPARABLE,
    NumberReasons,
    Without,
    from_to,
    lacking_tasks,
    missing,
    repeated,
    weights,
)
from mmeval.results.groups import depths, slice_by_slice, tasks_inside
from mmeval.run.options import BackendSpec, Unfinished
from mmeval.settings.report_options import ReportContext, as_arguments
from mmeval.task.task import LeftOut, Selection, Task
from mmeval.wording import printable

_HEADERS = ("Version", "Filter", "n-shot", "Metric", "↑/↓", "Value", "±", "Stderr", "95 % CI", "Scored", "Notes")
_BASELINE_AT = _HEADERS.index("Scored") + 1
"""Where the column of a baseline stands among the headers."""
_RIGHT_ALIGNED = frozenset({"n-shot", "Value", "Stderr", "95 % CI", "Scored"})
NO_DATA = "left out: its data are not here"


def render(
    results: Sequence[Result],
    group_results: Sequence[Result],
    selection: Selection,
    context: ReportContext,
    *,
    subsets: Mapping[str, Subset] | None = None,
    unfinished: Mapping[str, Unfinished] | None = None,
    roles: Mapping[str, BackendSpec] | None = None,
    baseline: Column | None = None,
) -> str:
    """The line with the settings, the table of tasks, and the table of groups when there are any numbers of groups.

    A task of which ``subsets`` says that samples were left out is noted as a subset, and so are its groups; so are
    tasks that are ``unfinished``. ``roles`` are those that were asked besides the model. ``baseline`` is a column of
    another run's numbers.
    """
    members = {group.name: group.members for group in selection.groups}
    reasons = NumberReasons((*results, *group_results), members, _without(selection))
    left_out = repeated(results, partial(_pieces_of, selection))
    results = [result for result in results if Key.of(result) not in left_out]
    shown = depths([*members, *(task.name for task in selection.tasks)], members)
    notes = _notes(selection, subsets or {}, unfinished or {})
    lines = [
        _settings_line(context, selection, roles or {}),
        *_table(
            "Tasks",
            _task_rows(results, group_results, selection, shown, notes, reasons=reasons, baseline=baseline),
            baseline,
        ),
    ]
    if group_results:
        lines += [
            "",
            *_table(
                "Groups",
                _group_rows(group_results, selection, shown, notes, reasons=reasons, baseline=baseline),
                baseline,
            ),
        ]
    return "\n".join(lines) + "\n"


def _pieces_of(selection: Selection, task: str, output: str) -> Collection[str]:
    bounds = (metric.bound for one in selection.tasks if one.name == task for metric in one.metrics)
    return next((bound.pieces for bound in bounds if output in bound.metric.outputs), ())


def _without(selection: Selection) -> Without:
    return {
        (task.name, output): tuple(metric.without)
        for task in selection.tasks
        for metric in task.metrics
        for output in metric.bound.metric.outputs
        if metric.without
    }


def _settings_line(context: ReportContext, selection: Selection, roles: Mapping[str, BackendSpec]) -> str:
    words = [
        f"{context.model} ({as_arguments(context.model_args)}), gen_kwargs: ({as_arguments(context.gen_kwargs)}), "
        f"limit: {context.limit}, num_fewshot: None, batch_size: {context.shown_batch_size}",
        *(f"{role}: {spec.name} ({as_arguments(spec.args)})" for role, spec in roles.items()),
        *_profiles(selection),
        *([f"protocol: {protocol}"] if (protocol := context.settings.get("protocol")) else []),
    ]
    return printable(", ".join(words), limit=2000)


def _profiles(selection: Selection) -> Iterator[str]:
    """The profiles that are not standard, with their tasks where others have another one."""
    of = {task.name: str(task.config.get("profile") or "standard") for task in selection}
    for profile in sorted({*of.values()} - {"standard"}):
        tasks = [name for name, own in of.items() if own == profile]
        yield f"profile: {profile}" + ("" if len(tasks) == len(of) else f" ({', '.join(tasks)})")


def _task_rows(
    results: Sequence[Result],
    group_results: Sequence[Result],
    selection: Selection,
    shown: Mapping[str, int],
    notes: Mapping[str, Note],
    *,
    reasons: NumberReasons,
    baseline: Column | None,
) -> Iterator[list[str]]:
    tasks: dict[str, Task | LeftOut] = {task.name: task for task in selection.tasks}
    tasks |= {task.name: task for task in selection.left_out}
    groups = {group.name: group for group in selection.groups}
    for name, depth in shown.items():
        if name in groups:
            own = [result for result in group_results if result.task == name]
            yield from _rows(
                groups[name].alias, groups[name].version, depth, own, notes[name], reasons=reasons, baseline=baseline
            )
        elif name in tasks:
            own = [result for result in results if result.task == name]
            yield from _rows(
                tasks[name].alias, tasks[name].version, depth, own, notes[name], reasons=reasons, baseline=baseline
            )


def _group_rows(
    group_results: Sequence[Result],
    selection: Selection,
    shown: Mapping[str, int],
    notes: Mapping[str, Note],
    *,
    reasons: NumberReasons,
    baseline: Column | None,
) -> Iterator[list[str]]:
    groups = {group.name: group for group in selection.groups}
    for name, depth in shown.items():
        own = [result for result in group_results if result.task == name]
        if name in groups and own:
            yield from _rows(
                groups[name].alias, groups[name].version, depth, own, notes[name], reasons=reasons, baseline=baseline
            )


class Note(NamedTuple):
    """What is to be said of a task or group besides its numbers: of its ``whole``, and of each of its ``slices``, which
    do not repeat how much of it was asked."""

    whole: str
    slices: str


def _notes(
    selection: Selection, subsets: Mapping[str, Subset], unfinished: Mapping[str, Unfinished]
) -> dict[str, Note]:
    """The notes of each task and group. A group is comparable when all of its tasks are, a subset when one of them is,
    and unfinished likewise."""
    foreign = {task.name for task in selection if not task.comparable}
    partial = {name: subset.note for name, subset in subsets.items() if subset.note}
    cut = {name: one.note for name, one in unfinished.items()}
    notes = {
        task.name: _note(task.name in foreign, cut.get(task.name, ""), partial.get(task.name, "")) for task in selection
    }
    absent = {task.name for task in selection.left_out}
    notes |= {name: Note(NO_DATA, "") for name in absent}
    groups = {group.name: group.members for group in selection.groups}
    for name in groups:
        tasks = tasks_inside(name, groups)
        missing_trials = "unfinished" if tasks & cut.keys() else ""
        subset = "subset" if tasks & partial.keys() else ""
        notes[name] = _note(bool(tasks & foreign), missing_trials, lacking_tasks(tasks, absent), subset)
    return notes


def _note(foreign: bool, *whole: str) -> Note:
    slices = NOT_COMPARABLE if foreign else ""
    return Note("; ".join(note for note in (slices, *whole) if note), slices)


def _rows(
    alias: str,
    version: str,
    depth: int,
    results: Sequence[Result],
    note: Note,
    *,
    reasons: NumberReasons,
    baseline: Column | None,
) -> Iterator[list[str]]:
    """The rows of one task or group: whole first, then its slices; its name stands in the first row only."""
    name = _indented(alias, depth)
    if not results:
        empty = [""] * (len(_HEADERS) - 2 + (baseline is not None))
        yield [name, cell(version), *empty, note.whole]
        return
    current: str | None = None
    for result in slice_by_slice(results):
        first = ""
        if result.slice != current:
            first = _indented(result.slice, depth + 1) if result.slice else name
        said = "; ".join(filter(None, (cell(reasons.of(result)), note.slices if result.slice else note.whole)))
        yield [first, cell(version) if first == name else "", *_numbers(result, said, baseline)]
        current = result.slice


def _numbers(result: Result, note: str, baseline: Column | None) -> list[str]:
    arrow = "↑" if result.higher_is_better else "↓"
    value = "N/A" if result.value is None else f"{result.value:.4f}"
    stderr = "N/A" if result.stderr is None else f"{result.stderr:.4f}"
    interval = "N/A" if result.ci95 is None else from_to(result.ci95)
    notes = "; ".join(part for part in (missing(result), cell(weights(result)), note) if part)
    scored = f"{result.scored}/{result.n}"
    beside = [] if baseline is None else [baseline.cell(result)]
    return ["none", "0", cell(result.metric), arrow, value, "±", stderr, interval, scored, *beside, notes]


def _indented(alias: str, depth: int) -> str:
    return " " * depth + ("- " if depth else "") + cell(alias)


def _table(first: str, rows: Iterator[list[str]], baseline: Column | None) -> list[str]:
    body = list(rows)
    beside = [] if baseline is None else [baseline.header]
    headers = [first, *_HEADERS[:_BASELINE_AT], *beside, *_HEADERS[_BASELINE_AT:]]
    if not any(row[-1] for row in body):
        headers, body = headers[:-1], [row[:-1] for row in body]
    return table_lines(headers, body, right_aligned=_RIGHT_ALIGNED | {*beside})
