"""The numbers of results files as rows: groups above their tasks, each whole and by its slices, runs side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mmeval.records.score import Key, Result
from mmeval.report.notes import NOT_COMPARABLE, NumberReasons, Without, lacking_tasks, missing, repeated, weights
from mmeval.results.compare import unlike
from mmeval.results.groups import depths, slice_by_slice, tasks_inside

Document = Mapping[str, Any]
"""The content of a results file: JSON values. Empty for a run that has none yet."""


NOT_ASKED = "not asked"
NOT_THERE = "no number"
"""In the place of a number, for a task that a run never had, and for what a run that had the task did not measure."""


@dataclass(frozen=True)
class NumberRow:
    """A metric over a task, a group or a slice, with one number for each run (None: that run has none).

    ``notes`` is what is to be said of the numbers besides, ``own_notes`` what belongs to each of the runs; ``unlike``
    says for each run after the first why its number does not compare with the first one's, empty where it does;
    ``absent`` says for each run what stands in the place of a number, empty where there is one.
    """

    task: str
    alias: str
    depth: int
    slice: str
    version: str
    metric: str
    higher_is_better: bool
    is_group: bool
    results: tuple[Result | None, ...]
    unlike: tuple[str, ...]
    absent: tuple[str, ...]
    own_notes: tuple[str, ...]
    notes: str

    @property
    def label(self) -> str:
        """What the row is called below those that it belongs to."""
        return self.slice or self.alias


def number_rows(
    documents: Sequence[Document], names: Sequence[str], *, every_slice: bool = False, repeats: bool | None = None
) -> list[NumberRow]:
    """The rows of some runs, which ``names`` tells apart in the notes. Of several breakdowns of a task the first is
    taken, unless every slice is wanted. A number that another one repeats is there only with ``repeats``, which where
    it is not said are wanted as every slice is."""
    tables = [{Key.of(result): result for result in _results(document)} for document in documents]
    shown = dict.fromkeys(name for document in documents for name in document.get("group_subtasks", {}))
    members = groups_of(documents)
    reasons = [
        NumberReasons(table.values(), members, _without(document))
        for table, document in zip(tables, documents, strict=True)
    ]
    left_out = set() if (every_slice if repeats is None else repeats) else _repeated(tables, documents)
    found: list[NumberRow] = []
    for task, depth in depths(shown, members).items():
        keys = dict.fromkeys(key for table in tables for key in table)
        own = [key for key in keys if key.task == task and key not in left_out]
        for key in slice_by_slice(own, every=every_slice):
            results = tuple(table.get(key) for table in tables)
            found.append(_row(key, depth, results, documents, names, reasons=reasons))
    return found


def _repeated(tables: Sequence[Mapping[Key, Result]], documents: Sequence[Document]) -> set[Key]:
    """The numbers that say in each of the runs what another row says."""
    told: set[Key] = set()
    repeats: set[Key] = set()
    for table, document in zip(tables, documents, strict=True):
        alike = repeated(table.values(), partial(_pieces_of, document))
        repeats |= alike
        told |= table.keys() - alike
    return repeats - told


def _pieces_of(document: Document, task: str, output: str) -> Collection[str]:
    metrics: Mapping[str, Mapping[str, Any]] = document.get("mmeval", {}).get("metrics", {}).get(task, {})
    found: Collection[str] = next((one["pieces"] for one in metrics.values() if _gives(one, output)), ())
    return found


def _without(document: Document) -> Without:
    return {
        (task, output): tuple(entry["without"])
        for task, metrics in document.get("mmeval", {}).get("metrics", {}).items()
        for entry in metrics.values()
        for output in entry.get("outputs", ())
        if entry.get("without")
    }


def _gives(entry: Mapping[str, Any], output: str) -> bool:
    return bool(entry.get("pieces")) and output in entry.get("outputs", ())


def groups_of(documents: Iterable[Document]) -> dict[str, list[str]]:
    """The members of each group."""
    return {
        name: list(members)
        for document in documents
        for name, members in document.get("group_subtasks", {}).items()
        if members
    }


def _results(document: Document) -> list[Result]:
    return [Result.from_json(row) for row in document.get("mmeval", {}).get("results", ())]


def _row(
    key: Key,
    depth: int,
    results: tuple[Result | None, ...],
    documents: Sequence[Document],
    names: Sequence[str],
    *,
    reasons: Sequence[NumberReasons],
) -> NumberRow:
    known = next(result for result in results if result is not None)
    members = groups_of(documents)
    unlike = tuple(_unlike(key, documents[0], other, members) for other in documents[1:])
    own = tuple(
        () if result is None else tuple(_notes(result, document, members, own_reasons))
        for result, document, own_reasons in zip(results, documents, reasons, strict=True)
    )
    notes = list(_together(names, own))
    notes += [
        f"{name} does not compare with {names[0]}: {why}"
        for name, why, result in zip(names[1:], unlike, results[1:], strict=True)
        if why and results[0] is not None and result is not None
    ]
    versions = (document.get("versions", {}).get(key.task) for document in documents)
    return NumberRow(
        task=key.task,
        alias=_alias(key.task, documents),
        depth=depth + bool(key.slice),
        slice=key.slice,
        version="" if key.slice else str(next(filter(None, versions), "")),
        metric=key.metric,
        higher_is_better=known.higher_is_better,
        is_group=key.task in members,
        results=results,
        unlike=unlike,
        absent=tuple(_absent(key.task, *pair) for pair in zip(results, documents, strict=True)),
        own_notes=tuple("; ".join(said) for said in own),
        notes="; ".join(dict.fromkeys(notes)),
    )


def _absent(task: str, result: Result | None, document: Document) -> str:
    if result is not None:
        return ""
    if not document:
        return NOT_THERE
    return NOT_THERE if task in document.get("group_subtasks", {}) else NOT_ASKED


def _alias(task: str, documents: Iterable[Document]) -> str:
    found = (document.get("results", {}).get(task, {}).get("alias") for document in documents)
    return str(next(filter(None, found), task))


def _together(names: Sequence[str], own: Sequence[Sequence[str]]) -> Iterator[str]:
    """The notes of each run by its name; what holds for all of them is said once."""
    shared = [note for note in own[0] if all(note in said for said in own)]
    yield from shared
    for name, said in zip(names, own, strict=True):
        if rest := [note for note in said if note not in shared]:
            yield f"{name}: {'; '.join(rest)}"


def _unlike(key: Key, first: Document, other: Document, members: Mapping[str, Sequence[str]]) -> str:
    if not first or not other:
        return ""
    tasks = sorted(tasks_inside(key.task, members))
    return next(filter(None, (unlike(first, other, task, key.metric) for task in tasks)), "")


def _notes(
    result: Result, document: Document, members: Mapping[str, Sequence[str]], reasons: NumberReasons
) -> list[str]:
    inside = tasks_inside(result.task, members)
    ours = document.get("mmeval", {})
    said = [missing(result), weights(result)]
    said += [NOT_COMPARABLE] if inside & set(ours.get("not_comparable", ())) else []
    if not result.slice:
        is_group = result.task in members
        said += [reasons.of(result)]
        said += list(_parts(inside, ours, whole=not is_group))
        said += [lacking_tasks(inside, ours.get("left_out", {}))]
    return [note for note in said if note]


def _parts(tasks: Collection[str], ours: Mapping[str, Any], *, whole: bool) -> Iterator[str]:
    """What part of the tasks stands behind a number, where it is not all of them."""
    unfinished = {task: row for task, row in ours.get("unfinished", {}).items() if task in tasks}
    subsets = {
        task: row
        for task, row in ours.get("subset", {}).items()
        if task in tasks and (row.get("of") is None or row["chosen"] < row["of"])
    }
    if unfinished:
        yield _share("unfinished", next(iter(unfinished.values())), "made") if whole else "unfinished"
    if subsets:
        yield _share("subset", next(iter(subsets.values())), "chosen") if whole else "subset"


def _share(what: str, row: Mapping[str, Any], name: str) -> str:
    return f"{what}: {row[name]:,}" if row.get("of") is None else f"{what}: {row[name]:,} of {row['of']:,}"
