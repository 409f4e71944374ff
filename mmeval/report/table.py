"""Formats the full tables on stdout: Markdown, a row for each number, uncertainty and
notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmeval.metric.answer_filter import name_and_filter
from mmeval.records.score import Key
from mmeval.report.baseline import BaselineColumn
from mmeval.report.markdown import cell, table_lines
from mmeval.report.table_formats.markdown import number_cells
from mmeval.results.numbers import NumberRow, ResultsDocument, number_rows
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
"""The headers between the name and the baseline's column."""
_RIGHT_ALIGNED = frozenset({"n-shot", "Value", "Stderr", "95 % CI", "Scored"})

Names = Mapping[str, Task | UnavailableTask | Group]
"""The tasks and groups of the table by name, from which alias and version are taken."""


def render(
    document: ResultsDocument,
    selection: Selection,
    context: ReportContext,
    *,
    roles: Mapping[str, BackendSpec] | None = None,
    baseline: BaselineColumn | None = None,
) -> str:
    """Returns the settings line, the table of tasks, and the table of groups if any
    group has a number. ``document`` is the content of the results file. ``roles`` are
    all roles except the model. ``baseline`` is another run's column."""
    shown: Sequence[Task | UnavailableTask | Group] = (
        *selection.tasks,
        *selection.left_out,
        *selection.groups,
    )
    names = {member.name: member for member in shown}
    rows = number_rows([document], [context.model], empty=True)
    rows = [row for row in rows if row.task in names]
    groups = [row for row in rows if row.is_group and row.metric]
    lines = [_settings_line(selection, context, roles or {})]
    lines += _table("Tasks", rows, names, baseline)
    if groups:
        lines += ["", *_table("Groups", groups, names, baseline)]
    return "\n".join(lines) + "\n"


def _settings_line(
    selection: Selection, context: ReportContext, roles: Mapping[str, BackendSpec]
) -> str:
    words = [
        f"{context.model} ({as_arguments(context.model_args)})",
        f"gen_kwargs: ({as_arguments(context.gen_kwargs)})",
        f"limit: {context.limit}",
        "num_fewshot: None",
        f"batch_size: {context.batch_size}",
    ]
    for role, spec in roles.items():
        words.append(f"{role}: {spec.name} ({as_arguments(spec.args)})")
    # all profiles except standard, with their tasks if profiles differ
    profiles: dict[str, list[str]] = {}
    for task in selection:
        profile = str(task.config.get("profile") or "standard")
        profiles.setdefault(profile, []).append(task.name)
    for profile in sorted(profiles):
        if profile != "standard":
            tasks = f" ({', '.join(profiles[profile])})" if len(profiles) > 1 else ""
            words.append(f"profile: {profile}{tasks}")
    protocol = context.settings.get("protocol")
    if protocol:
        words.append(f"protocol: {protocol}")
    return printable(", ".join(words), limit=2000)


def _table(
    title: str, rows: Sequence[NumberRow], names: Names, baseline: BaselineColumn | None
) -> list[str]:
    """Returns the rows of numbers over all samples, then the rows of slices. Each name
    appears only in its first row."""
    headers = [title, *_BEFORE]
    right_aligned = set(_RIGHT_ALIGNED)
    if baseline is not None:
        headers.append(cell(baseline.header))
        right_aligned.add(cell(baseline.header))
    body = []
    last = None
    for row in rows:
        name = version = ""
        if (row.task, row.slice) != last:
            shown = names[row.task]
            indent = f"{' ' * row.depth}- " if row.depth else ""
            name = indent + cell(row.slice or shown.alias)
            version = "" if row.slice else cell(shown.version)
        last = row.task, row.slice
        notes = row.own_notes[0]
        of_number = (
            notes.missing,
            notes.no_option,
            cell(notes.no_interval),
            notes.refused,
            cell(notes.weights),
            cell(notes.reasons),
            notes.comparable,
            notes.reference,
            notes.unfinished,
            notes.left_out,
            notes.subset,
        )
        words = "; ".join(filter(None, of_number))
        body.append([name, version, *_numbers(row, baseline), words])
    headers.append("Notes")
    return table_lines(headers, body, right_aligned=right_aligned, if_filled="Notes")


def _numbers(row: NumberRow, baseline: BaselineColumn | None) -> list[str]:
    if not row.metric:
        count = len(_BEFORE) - 1
        return [""] * (count if baseline is None else count + 1)
    name, filter_name = name_and_filter(row.metric)
    arrow = "↑" if row.higher_is_better else "↓"
    numbers = number_cells(row.results[0])
    if baseline is not None:
        other = baseline.values.get(Key(row.task, row.metric, row.slice))
        numbers.append("N/A" if other is None else f"{other.value:.4f}")
    return [cell(filter_name), "0", cell(name), arrow, *numbers]
