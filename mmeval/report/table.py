"""The tables on stdout: Markdown, one row a number, with its uncertainty and what stands behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.records import Result
from mmeval.report.context import ReportContext, as_arguments
from mmeval.report.markdown import cell, printable, table_lines
from mmeval.task import Group, Selection

_HEADERS = ("Version", "Filter", "n-shot", "Metric", "↑/↓", "Value", "±", "Stderr", "Scored", "Notes")
_RIGHT_ALIGNED = frozenset({"n-shot", "Value", "Stderr", "Scored"})
NOT_COMPARABLE = "not comparable"


def render(
    results: Sequence[Result], group_results: Sequence[Result], selection: Selection, context: ReportContext
) -> str:
    """The line with the settings, the table of tasks, and the table of groups when there are any numbers of groups."""
    depths = hierarchy(selection)
    lines = [_settings_line(context), *_table("Tasks", _task_rows(results, group_results, selection, depths))]
    if group_results:
        lines += ["", *_table("Groups", _group_rows(group_results, selection, depths))]
    return "\n".join(lines) + "\n"


def hierarchy(selection: Selection) -> dict[str, int]:
    """The depth of each group and task, in the order in which they are shown: groups first, their members below."""
    groups = {group.name: group for group in selection.groups}
    inner = {name for group in selection.groups for name in group.members}
    depths: dict[str, int] = {}
    for group in selection.groups:
        if group.name not in inner:
            _visit(group.name, 0, groups, depths)
    for name in [*groups, *(task.name for task in selection.tasks)]:
        depths.setdefault(name, 0)
    return depths


def _visit(name: str, depth: int, groups: Mapping[str, Group], depths: dict[str, int]) -> None:
    if name in depths:
        return
    depths[name] = depth
    for member in groups[name].members if name in groups else ():
        _visit(member, depth + 1, groups, depths)


def _settings_line(context: ReportContext) -> str:
    return printable(
        f"{context.model} ({as_arguments(context.model_args)}), gen_kwargs: ({as_arguments(context.gen_kwargs)}), "
        f"limit: {context.limit}, num_fewshot: None, batch_size: {context.shown_batch_size}",
        limit=2000,
    )


def _task_rows(
    results: Sequence[Result], group_results: Sequence[Result], selection: Selection, depths: Mapping[str, int]
) -> Iterator[list[str]]:
    tasks = {task.name: task for task in selection.tasks}
    groups = {group.name: group for group in selection.groups}
    for name, depth in depths.items():
        if name in groups:
            own = [result for result in group_results if result.task == name]
            note = _group_note(groups[name], selection)
            yield from _rows(groups[name].alias, groups[name].version, depth, own, note)
        elif name in tasks:
            own = [result for result in results if result.task == name]
            note = "" if tasks[name].comparable else NOT_COMPARABLE
            yield from _rows(tasks[name].alias, tasks[name].version, depth, own, note)


def _group_rows(
    group_results: Sequence[Result], selection: Selection, depths: Mapping[str, int]
) -> Iterator[list[str]]:
    groups = {group.name: group for group in selection.groups}
    for name, depth in depths.items():
        own = [result for result in group_results if result.task == name]
        if name in groups and own:
            yield from _rows(groups[name].alias, groups[name].version, depth, own, _group_note(groups[name], selection))


def _group_note(group: Group, selection: Selection) -> str:
    """A group is comparable when all of its tasks are."""
    members = _tasks_of(group.name, {g.name: g for g in selection.groups}, set())
    return NOT_COMPARABLE if any(not t.comparable for t in selection.tasks if t.name in members) else ""


def _tasks_of(name: str, groups: Mapping[str, Group], seen: set[str]) -> set[str]:
    if name in seen:
        return seen
    seen.add(name)
    for member in groups[name].members if name in groups else ():
        _tasks_of(member, groups, seen)
    return seen


def _rows(alias: str, version: str, depth: int, results: Sequence[Result], note: str) -> Iterator[list[str]]:
    """The rows of one task or group: whole first, then its slices; its name stands in the first row only."""
    name = _indented(alias, depth)
    if not results:
        yield [name, cell(version), "", "", "", "", "", "", "", "", note]
        return
    current: str | None = None
    for result in _slice_by_slice(results):
        first = ""
        if result.slice != current:
            first = _indented(result.slice, depth + 1) if result.slice else name
        yield [first, cell(version) if first == name else "", *_numbers(result, note)]
        current = result.slice


def _slice_by_slice(results: Sequence[Result]) -> list[Result]:
    """The whole first, then each slice with all its metrics. Only the first breakdown of a task is shown: the others,
    often dozens of lines, are in the results file."""
    keys = [result.slice.partition("=")[0] for result in results if result.slice]
    results = [result for result in results if not result.slice or result.slice.partition("=")[0] == keys[0]]
    order = {label: at for at, label in enumerate(["", *dict.fromkeys(result.slice for result in results)][::-1])}
    return sorted(results, key=lambda result: -order[result.slice])


def _numbers(result: Result, note: str) -> list[str]:
    arrow = "↑" if result.higher_is_better else "↓"
    value = "N/A" if result.value is None else f"{result.value:.4f}"
    stderr = "N/A" if result.stderr is None else f"{result.stderr:.4f}"
    notes = "; ".join(part for part in (missing(result), note) if part)
    return ["none", "0", cell(result.metric), arrow, value, "±", stderr, f"{result.scored}/{result.n}", notes]


def missing(result: Result) -> str:
    """What a value leaves out and how much that could change it: ``2 failed, 1 unscored: 0.4000 to 0.5500``."""
    counts = [
        (result.failed, "failed"),
        (result.unscored, "unscored"),
        (result.unavailable, "unavailable"),
        (result.unsupported, "unsupported"),
    ]
    words = ", ".join(f"{count} {what}" for count, what in counts if count)
    if words and result.bounds is not None and (result.failed or result.unscored):
        return f"{words}: {result.bounds[0]:.4f} to {result.bounds[1]:.4f}"
    return words


def _indented(alias: str, depth: int) -> str:
    return " " * depth + ("- " if depth else "") + cell(alias)


def _table(first: str, rows: Iterator[list[str]]) -> list[str]:
    body = list(rows)
    headers = [first, *_HEADERS]
    if not any(row[-1] for row in body):
        headers, body = headers[:-1], [row[:-1] for row in body]
    return table_lines(headers, body, right_aligned=_RIGHT_ALIGNED)
