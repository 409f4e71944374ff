"""Chooses the headline of each group and task: the number that is shown if only one
fits. Chooses the further numbers that are shown below it."""

from __future__ import annotations

from collections.abc import Sequence

from mmeval.results.corrected import corrected_keys
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import NumberRow, ResultsDocument, groups_of


def headline_rows(rows: Sequence[NumberRow]) -> list[NumberRow]:
    """Returns one row for each group and task, in the given order.

    Slices do not get a row.

    Numbers are considered in this order: totals of averages, other totals, then all
    other numbers in the order of the rows. A total is computed from other numbers, and
    is a part of no other number. The headline is the first number with a value, even if
    some trials are lost. With several runs, it is the number with the most values. A
    partial value is treated as missing. If no number has a value, the headline is the
    first row.
    """
    whole: dict[str, list[NumberRow]] = {}
    for row in rows:
        if not row.slice:
            whole.setdefault(row.task, []).append(row)
    return [_headline(of_task) for of_task in whole.values()]


def _headline(rows: Sequence[NumberRow]) -> NumberRow:
    """Returns the headline of one task. ``rows`` are its numbers over all samples."""
    inside: set[str] = set()
    for row in rows:
        inside |= row.pieces

    def rank(row: NumberRow) -> tuple[bool, bool]:
        is_total = bool(row.pieces) and row.metric not in inside
        return (not is_total, not row.of_averages)

    best = max(sorted(rows, key=rank), key=_values)
    return best if _values(best) else rows[0]


def _values(row: NumberRow) -> int:
    """Counts the runs in which a row has a value that is not partial; some of its
    trials may be lost."""
    count = 0
    for result, is_partial in zip(row.results, row.partial, strict=True):
        if result is None or is_partial:
            continue
        is_lost = result.scored > 0 and result.failed + result.unscored > 0
        count += result.value is not None or is_lost
    return count


def further_rows(
    rows: Sequence[NumberRow], headline: NumberRow, document: ResultsDocument
) -> list[NumberRow]:
    """Returns the other numbers of a group or task that deserve a line, best first.

    ``rows`` are the numbers of the results file ``document`` alone. The order is:
    corrected numbers, totals of judged metrics, judged metrics, other totals, then the
    other outputs of judged metrics. A number without a value is included only if it
    lost scores.
    """
    main_outputs, all_outputs = _judged_outputs(headline, document)
    corrected = corrected_keys(document)
    whole = [row for row in rows if row.task == headline.task and not row.slice]
    inside: set[str] = set()
    for row in whole:
        inside |= row.pieces

    ranked: list[tuple[int, NumberRow]] = []
    for row in whole:
        known = [result for result in row.results if result is not None]
        if row.metric == headline.metric:
            continue
        if not any(result.value is not None or result.unscored for result in known):
            continue
        is_total = bool(row.pieces) and row.metric not in inside
        if (row.task, row.metric) in corrected:
            ranked.append((-1, row))
        elif is_total and not row.pieces.isdisjoint(all_outputs):
            ranked.append((0, row))
        elif row.metric in main_outputs:
            ranked.append((1, row))
        elif is_total:
            ranked.append((2, row))
        elif row.metric in all_outputs:
            ranked.append((3, row))
    ranked.sort(key=lambda pair: pair[0])
    return [row for _, row in ranked]


def _judged_outputs(
    headline: NumberRow, document: ResultsDocument
) -> tuple[set[str], set[str]]:
    """Returns the main output of each judged metric of a group or task, then all their
    outputs. The main output has the metric's name, or is the first output."""
    main_outputs: set[str] = set()
    all_outputs: set[str] = set()
    metrics_by_task = document.get("mmeval", {}).get("metrics", {})
    for task in tasks_inside(headline.task, groups_of([document])):
        for name, metric in metrics_by_task.get(task, {}).items():
            outputs = metric.get("outputs", ())
            if metric.get("judged") and outputs:
                main_outputs.add(name if name in outputs else outputs[0])
                all_outputs.update(outputs)
    return main_outputs, all_outputs
