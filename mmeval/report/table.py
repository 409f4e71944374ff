"""The tables on stdout: Markdown, one row a number, with uncertainty and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.metric.answer_filter import name_and_filter
from mmeval.records.score import Key
from mmeval.report.baseline import Column
from mmeval.report.markdown import cell, table_lines
from mmeval.report.table_formats.markdown import number_cells
from mmeval.results.numbers import Notes, NumberRow, ResultsDocument, number_rows
from mmeval.run.options import BackendSpec
from mmeval.settings.report_options import ReportContext, as_arguments
from mmeval.system.wording import printable
from mmeval.task.task import Group, Selection, Task, UnavailableTask

_BEFORE = (
    "Version",
    "Filter",
    "n-shot",
    "Metric",
    "↑/↓",
    "Value",
    "±",
    "Stderr",
    "95 % CI",
    "Scored",
)
"""The headers between the name and the column of a baseline."""
_RIGHT_ALIGNED = frozenset({"n-shot", "Value", "Stderr", "95 % CI", "Scored"})

Names = Mapping[str, Task | UnavailableTask | Group]
"""What is in the table, with its alias and version."""


def render(
    document: ResultsDocument,
    selection: Selection,
    context: ReportContext,
    *,
    roles: Mapping[str, BackendSpec] | None = None,
    baseline: Column | None = None,
) -> str:
    """The settings line, the table of tasks, and that of groups if any has a number.
    ``document`` is the results file's content, ``roles`` those besides the model,
    ``baseline`` another run's column."""
    shown: Sequence[Task | UnavailableTask | Group] = (
        *selection.tasks,
        *selection.left_out,
        *selection.groups,
    )
    names = {one.name: one for one in shown}
    rows = [
        row
        for row in number_rows([document], [context.model], empty=True)
        if row.task in names
    ]
    groups = [row for row in rows if row.is_group and row.metric]
    lines = [
        _settings_line(selection, context, roles or {}),
        *_table("Tasks", rows, names, baseline),
    ]
    if groups:
        lines += ["", *_table("Groups", groups, names, baseline)]
    return "\n".join(lines) + "\n"


def _settings_line(
    selection: Selection, context: ReportContext, roles: Mapping[str, BackendSpec]
) -> str:
    words = [
        f"{context.model} ({as_arguments(context.model_args)}), gen_kwargs: "
        f"({as_arguments(context.gen_kwargs)}), "
        f"limit: {context.limit}, num_fewshot: None, batch_size: {context.batch_size}",
        *(
            f"{role}: {spec.name} ({as_arguments(spec.args)})"
            for role, spec in roles.items()
        ),
        *_profiles(selection),
        *(
            [f"protocol: {protocol}"]
            if (protocol := context.settings.get("protocol"))
            else []
        ),
    ]
    return printable(", ".join(words), limit=2000)


def _profiles(selection: Selection) -> Iterator[str]:
    """The profiles that are not standard, with their tasks where others have
    another."""
    of = {
        task.name: str(task.config.get("profile") or "standard") for task in selection
    }
    for profile in sorted(set(of.values()) - {"standard"}):
        tasks = [name for name, own in of.items() if own == profile]
        yield f"profile: {profile}" + (
            "" if len(tasks) == len(of) else f" ({', '.join(tasks)})"
        )


def _table(
    title: str, rows: Sequence[NumberRow], names: Names, baseline: Column | None
) -> list[str]:
    """Whole first, then the slices; the name of either is in its first row only."""
    beside = [] if baseline is None else [cell(baseline.header)]
    headers = [title, *_BEFORE, *beside, "Notes"]
    body = []
    last = None
    for row in rows:
        one = names[row.task]
        is_first = (row.task, row.slice) != last
        name = (
            " " * row.depth + ("- " if row.depth else "") + cell(row.slice or one.alias)
            if is_first
            else ""
        )
        version = cell(one.version) if is_first and not row.slice else ""
        body.append(
            [name, version, *_numbers(row, baseline), _in_cells(row.own_notes[0])]
        )
        last = row.task, row.slice
    return table_lines(
        headers, body, right_aligned=_RIGHT_ALIGNED | set(beside), if_filled="Notes"
    )


def _numbers(row: NumberRow, baseline: Column | None) -> list[str]:
    if not row.metric:
        return [""] * (len(_BEFORE) - 1 + (baseline is not None))
    arrow = "↑" if row.higher_is_better else "↓"
    other = (
        None
        if baseline is None
        else baseline.values.get(Key(row.task, row.metric, row.slice))
    )
    beside = (
        [] if baseline is None else ["N/A" if other is None else f"{other.value:.4f}"]
    )
    name, filter_name = name_and_filter(row.metric)
    return [
        cell(filter_name),
        "0",
        cell(name),
        arrow,
        *number_cells(row.results[0]),
        *beside,
    ]


def _in_cells(notes: Notes) -> str:
    of_number = (
        notes.missing,
        notes.no_option,
        cell(notes.no_interval),
        notes.refused,
        cell(notes.weights),
        cell(notes.reasons),
        notes.comparable,
        notes.reference,
    )
    return "; ".join(
        filter(None, (*of_number, notes.unfinished, notes.left_out, notes.subset))
    )
