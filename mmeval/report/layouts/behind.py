"""Makes the table behind the numbers: how many scores each run has, who judged, and
which profile was used."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from mmeval.records.score import Result
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
from mmeval.results.numbers import results_of
from mmeval.results.provenance import skipped_metrics_note
from mmeval.results.published import NumberKey
from mmeval.results.stored_run import StoredRun
from mmeval.task.layout_file import LayoutFile

NAME = "behind"
SCORED_NOTE = (
    "Scored: the scores of all trials of the tasks, of each number in the tables."
)
MAX_CELL = 30


def table_behind(
    layout: LayoutFile, models: Sequence[ModelRow], keys: Sequence[NumberKey]
) -> PaperTable | None:
    """Returns the table with a row for each run, or None without runs. ``keys`` are the
    numbers of all cells."""
    facts: list[tuple[Title, Mapping[str, str]]] = []
    notes = [SCORED_NOTE]
    for model in models:
        if model.run is None:
            continue
        of_run = dict(_facts(model.run, model.tasks, keys))
        if layout.behind and model.run.results:
            of_run |= called(layout, layout.behind, model.run)
        for name, text in tuple(of_run.items()):
            # a long text would make a column too wide
            if len(text) > MAX_CELL:
                notes.append(f"{name} of {model.name}: {of_run.pop(name)}")
        facts.append((Title(model.name, model.mark), of_run))
        for note in skipped_metrics_note(model.run):
            notes.append(f"{model.name}: {note}")
    if not facts:
        return None
    headers: dict[str, None] = {}
    for _, own in facts:
        headers |= dict.fromkeys(header for header, text in own.items() if text)
    rows = []
    for title, own in facts:
        cells = [ShownCell(own.get(name, ""), is_text=True) for name in headers]
        rows.append(TableRow(title, tuple(cells)))
    columns = tuple(TableColumn((name,)) for name in headers)
    return PaperTable(
        name=NAME,
        title=f"{layout.title}: behind the numbers",
        corner="Model",
        blocks=(Block(Title(""), columns, tuple(rows)),),
        notes=tuple(notes),
    )


def _facts(
    run: StoredRun, tasks: Collection[str], keys: Sequence[NumberKey]
) -> Mapping[str, str]:
    """Returns the counts and the provenance of a run; a fact that does not apply is
    empty."""
    numbers = {key.metric for key in keys}
    results: list[Result] = []
    for key, result in results_of(run.results).items():
        if key.task in tasks and key.metric in numbers and not key.slice:
            results.append(result)
    counts = {
        "Lost": sum(row.failed + row.unscored for row in results),
        "Unavailable": sum(row.unavailable for row in results),
        "Unsupported": sum(row.unsupported for row in results),
    }
    profiles = set()
    for task in tasks:
        for metric in run.ours.get("metrics", {}).get(task, {}).values():
            profiles.add(str(metric.get("profile") or "standard"))
    scored = sum(row.scored for row in results)
    asked = sum(row.n for row in results)
    facts = {"Scored": f"{scored:,}/{asked:,}"}
    for name, count in counts.items():
        facts[name] = f"{count:,}" if count else ""
    judges = sorted({model for _, model in judges_in(run.ours, tasks)})
    facts["Judge"] = " and ".join(judges)
    facts["Profile"] = " and ".join(sorted(profiles))
    return facts
