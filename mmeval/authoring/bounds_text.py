"""Bounds as a table: what the right answers, shuffled ones and empty ones are given, by task and metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.authoring.bounds import Bounds, Which
from mmeval.report.markdown import cell, table_lines

_HEADERS = ("Tasks", "Metric", "↑/↓", "Reference", "Shuffled", "Empty", "Notes")
_NUMBERS = frozenset(("Reference", "Shuffled", "Empty"))
_MAX_NOTE = 200


def bounds_table(found: Sequence[Bounds]) -> str:
    """The lines of the table, each with its end; empty without any number."""
    if not found:
        return ""
    rows = [list(_row(bounds, repeated=_is_repeated(found, i))) for i, bounds in enumerate(found)]
    shown = len(_HEADERS) if any(row[-1] for row in rows) else len(_HEADERS) - 1
    lines = table_lines(_HEADERS[:shown], [row[:shown] for row in rows], right_aligned=_NUMBERS)
    return "".join(f"{line}\n" for line in lines)


def bounds_means(found: Sequence[Bounds]) -> str:
    """The means of several numbers that lie between 0 (worst) and 1, in one line; empty where some of them do not."""
    told = [bounds for bounds in found if not bounds.unavailable]
    if len(told) < 2 or any(bounds.range != (0, 1) or not bounds.higher_is_better for bounds in told):
        return ""
    said = [f"{words} {mean:.2f}" for which, words in _MEANS.items() if (mean := _mean(told, which)) is not None]
    return f"{'   '.join(said)}\n" if said else ""


_MEANS: Mapping[Which, str] = {"reference": "reference", "shuffled": "shuffled references", "empty": "empty"}


def _mean(found: Sequence[Bounds], which: Which) -> float | None:
    """None where a number has no value: the others' mean could not be compared."""
    values = [bounds.value(which) for bounds in found]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _is_repeated(found: Sequence[Bounds], position: int) -> bool:
    return position > 0 and found[position - 1].task.name == found[position].task.name


def _row(bounds: Bounds, *, repeated: bool) -> Iterator[str]:
    yield "" if repeated else cell(bounds.task.name)
    yield cell(bounds.metric)
    yield "↑" if bounds.higher_is_better else "↓"
    for which in ("reference", "shuffled", "empty"):
        value = bounds.value(which)
        yield "N/A" if value is None else f"{value:.4f}"
    yield cell("; ".join(_notes(bounds)), limit=_MAX_NOTE)


def _notes(bounds: Bounds) -> Iterator[str]:
    if bounds.unavailable:
        yield "unavailable"
        return
    yield from _lacks(bounds, "reference")
    if bounds.only_one:
        yield "nothing to shuffle: fewer than two samples have a reference"
    else:
        yield from _lacks(bounds, "shuffled")
    yield from _lacks(bounds, "empty")


def _lacks(bounds: Bounds, which: Which) -> Iterator[str]:
    """How many answers have no number, where some have none."""
    result = bounds.results.get(which)
    if result is None:
        return
    asked = result.n - result.unsupported
    applicable = asked - result.inapplicable
    if result.unsupported and not asked:
        yield "no sample has a reference" if which == "reference" else f"{which}: nothing could be asked"
    elif result.inapplicable and not applicable:
        yield f"{which}: nothing to score"
    elif result.scored < applicable:
        yield f"{which}: {applicable - result.scored} of {applicable} without a score"
