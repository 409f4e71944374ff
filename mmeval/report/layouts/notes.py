"""Writes the notes below the tables of a layout: cells without a number, marked rows,
and runs that cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mmeval.report.layouts.cells import CellValue
from mmeval.report.layouts.tables import LIMITED, PUBLISHED, UNKNOWN, ModelRow
from mmeval.results.compare import unlike
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import groups_of
from mmeval.results.published import NumberKey
from mmeval.system.wording import listed

MAX_NAMED = 5


class LostCell(NamedTuple):
    """A cell that is N/A: its model, and its content with the reason."""

    model: str
    content: CellValue


def notes_of(
    models: Sequence[ModelRow], lost: Sequence[LostCell], keys: Sequence[NumberKey]
) -> Iterator[str]:
    """Yields the notes of a table with these models. ``keys`` are the numbers of its
    cells."""
    yield from _lost_notes(lost)
    files = dict.fromkeys(model.source for model in models if model.source)
    for file in files:
        yield f"{PUBLISHED} published: {file}"
    by_limit: dict[str, list[str]] = {}
    for model in models:
        if model.limits:
            by_limit.setdefault(model.limits, []).append(model.name)
    for limit, names in by_limit.items():
        yield f"{LIMITED} {limit}: {listed(names, MAX_NAMED)}"
    yield from _unlike_notes(models, keys)


def _lost_notes(lost: Sequence[LostCell]) -> Iterator[str]:
    by_reason: dict[str, dict[str, list[int]]] = {}
    for cell in lost:
        of_models = by_reason.setdefault(cell.content.reason, {})
        of_models.setdefault(cell.model, []).append(cell.content.trials)
    for reason, of_models in by_reason.items():
        counts = []
        for name, trials in of_models.items():
            words = "1 cell" if len(trials) == 1 else f"{len(trials)} cells"
            if sum(trials):
                samples = "1 trial" if sum(trials) == 1 else f"{sum(trials):,} trials"
                words += f", {samples}"
            counts.append(f"{name} ({words})")
        yield f"{UNKNOWN}, {reason}: {listed(counts, MAX_NAMED)}"


def _unlike_notes(
    models: Sequence[ModelRow], keys: Sequence[NumberKey]
) -> Iterator[str]:
    """Yields why runs cannot be compared with the first run of the table."""
    runs = [model for model in models if model.run is not None]
    if len(runs) < 2:
        return
    first = runs[0]
    numbers = list(dict.fromkeys((key.task, key.metric) for key in keys))
    by_reason: dict[str, list[str]] = {}
    for model in runs[1:]:
        for reason in _reasons(first, model, numbers):
            by_reason.setdefault(reason, []).append(model.name)
    for reason, names in by_reason.items():
        yield (
            f"Not comparable with {first.name}: {listed(names, MAX_NAMED)} ({reason})"
        )


def _reasons(
    first: ModelRow, other: ModelRow, numbers: Sequence[tuple[str, str]]
) -> list[str]:
    """Returns why numbers, given by task and metric, of two runs cannot be compared."""
    assert first.run is not None
    assert other.run is not None
    before, now = first.run, other.run
    members = groups_of([before.results, now.results])
    asked = before.ours.get("protocols", {}).keys() & now.ours.get("protocols", {})
    reasons: dict[str, None] = {}
    for task, metric in numbers:
        common = tasks_inside(task, members) & asked
        if not common:
            # a hook computes the number from the trials of other tasks
            common = first.tasks & other.tasks & asked
        reason = unlike(before.results, now.results, sorted(common), metric)
        if reason:
            reasons[reason] = None
    return list(reasons)
