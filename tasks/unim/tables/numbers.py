"""Pools a run's UniM trials for the tables of the paper: by field, domain and
capability.

A run of the three levels has no tasks of domains and no groups of fields, so its
results file lacks these numbers. Trials that several tasks share count once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from mmeval.results import NumberKey, TableNumber
from mmeval.tasks.unim.domains import FIELDS, domain_of
from mmeval.tasks.unim.labels import CAPABILITIES
from mmeval.tasks.unim.tables.averages import SliceMeans, Sums, macro, micro
from mmeval.tasks.unim.tables.pool import NUMBERS, UNIM, Pool, pooled
from mmeval.tasks.unim.tables.slices import Columns

if TYPE_CHECKING:
    from mmeval.results import StoredRun


def pooled_numbers(run: StoredRun) -> Iterator[TableNumber]:
    """Yields the numbers of each domain, of each field (the mean of its domains), and
    of each capability."""
    pool = pooled(run)
    columns = Columns(pool)
    parts = columns.slices(
        columns.by_label("place"), len(pool.places), NUMBERS, NUMBERS
    )
    by_field: dict[str, list[Mapping[str, Sums]]] = {}
    for place, position in pool.places.items():
        sums = parts[position].sums
        by_field.setdefault(place.field, []).append(sums)
        domain = domain_of(place.domain)
        if domain is None:
            continue
        for number in NUMBERS:
            means = micro(sums[number])
            yield from _numbers(f"unim_{domain.name}", number, means)
    for field in FIELDS:
        for number in NUMBERS if field in by_field else ():
            means = macro(sums[number] for sums in by_field[field])
            yield from _numbers(f"unim_{field}", number, means)
    if pool.places:
        yield from _by_capability(pool, columns)


def _by_capability(pool: Pool, columns: Columns) -> Iterator[TableNumber]:
    """Yields the numbers of each capability over all samples. A sample counts in each
    of its capabilities with weight 1."""
    parts = columns.slices(
        columns.by_capability(soft=False), len(pool.capabilities), NUMBERS, NUMBERS
    )
    for capability in CAPABILITIES:
        label = f"capabilities={capability}"
        position = pool.capabilities.get(capability)
        for number in NUMBERS:
            if position is None:
                yield TableNumber(NumberKey(UNIM, number, label), None, "cannot")
            else:
                means = micro(parts[position].sums[number])
                yield from _numbers(UNIM, number, means, label)


def _numbers(
    task: str,
    number: str,
    means: SliceMeans,
    label: str = "",
) -> Iterator[TableNumber]:
    if means.tau is None:
        return
    yield TableNumber(NumberKey(task, number, label, "tau"), means.tau)
    cannot = means.tau == 0
    if means.absolute is not None:
        yield TableNumber(NumberKey(task, number, label), means.absolute)
    elif cannot:
        yield TableNumber(NumberKey(task, number, label), None, "cannot")
    else:
        yield TableNumber(NumberKey(task, number, label), None, "lost", "not scored")
    if means.relative is not None:
        key = NumberKey(task, number, label, "relative")
        yield TableNumber(key, means.relative)
