"""Makes the table behind the numbers: how many scores each run has, who judged, and
which profile was used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mmeval.records.score import Key, Result
from mmeval.report.layouts.rows import called
from mmeval.report.layouts.tables import (
    Block,
    ModelRow,
    PaperTable,
    ShownCell,
    TableColumn,
    TableRow,
    Title,
)
from mmeval.results.compare import judges_in
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import groups_of, results_of
from mmeval.results.provenance import skipped_metrics_note
from mmeval.results.published import NumberKey
from mmeval.results.stored_run import StoredRun
from mmeval.task.layout_file import LayoutFile

NAME = "behind"
SCORED_NOTE = "Scored: the scores behind all cells of a run that are not means."


def table_behind(
    layout: LayoutFile, models: Sequence[ModelRow], keys: Sequence[NumberKey]
) -> PaperTable | None:
    """Returns the table with a row for each run, or None without runs. ``keys`` are the
    numbers of all cells."""
    facts: dict[Title, Mapping[str, str]] = {}
    notes = [SCORED_NOTE]
    for model in models:
        if model.run is None:
            continue
        of_run = dict(_facts(model.run, keys))
        if layout.behind and model.run.results:
            of_run |= called(layout, layout.behind, model.run)
        facts[Title(model.name, model.mark)] = of_run
        for note in skipped_metrics_note(model.run):
            notes.append(f"{model.name}: {note}")
    if not facts:
        return None
    headers: dict[str, None] = {}
    for of_run in facts.values():
        headers |= dict.fromkeys(header for header, text in of_run.items() if text)
    rows = []
    for title, of_run in facts.items():
        cells = [ShownCell(of_run.get(name, ""), is_text=True) for name in headers]
        rows.append(TableRow(title, tuple(cells)))
    columns = tuple(TableColumn((name,)) for name in headers)
    return PaperTable(
        name=NAME,
        title=f"{layout.title}: behind the numbers",
        corner="Model",
        blocks=(Block(Title(""), columns, tuple(rows)),),
        notes=tuple(notes),
    )


def _facts(run: StoredRun, keys: Sequence[NumberKey]) -> Mapping[str, str]:
    """Returns the counts and the provenance of a run; a fact that does not apply is
    empty."""
    by_key = results_of(run.results)
    results: dict[Key, Result] = {}
    for key in keys:
        own = Key(key.task, key.metric, key.slice)
        if own in by_key:
            results[own] = by_key[own]
    counts = {
        "Lost": sum(row.failed + row.unscored for row in results.values()),
        "Unavailable": sum(row.unavailable for row in results.values()),
        "Unsupported": sum(row.unsupported for row in results.values()),
    }
    members = groups_of([run.results])
    tasks: set[str] = set()
    for key in results:
        tasks |= tasks_inside(key.task, members)
    profiles = set()
    for task in tasks:
        for metric in run.ours.get("metrics", {}).get(task, {}).values():
            profiles.add(str(metric.get("profile") or "standard"))
    scored = sum(row.scored for row in results.values())
    asked = sum(row.n for row in results.values())
    facts = {"Scored": f"{scored:,}/{asked:,}"}
    for name, count in counts.items():
        facts[name] = f"{count:,}" if count else ""
    judges = sorted({model for _, model in judges_in(run.ours, tasks)})
    facts["Judge"] = " and ".join(judges)
    facts["Profile"] = " and ".join(sorted(profiles))
    return facts
