"""Numbers of results files as rows: groups above tasks, slices, runs side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from mmeval.records.score import Key, Result
from mmeval.results.compare import unlike
from mmeval.results.groups import depths, slice_by_slice, tasks_inside
from mmeval.results.notes import (
    NumberReasons,
    Pieces,
    missing,
    no_interval,
    no_option,
    refused,
    repeated,
    weights,
)

ResultsDocument = Mapping[str, Any]
"""The content of a results file: JSON values. Empty for a run that has none yet."""

NO_DATA = "left out: its data are not here"
NOT_ASKED = "not asked"
NOT_THERE = "no number"
"""In the place of a number: for a task that a run never had, and for a metric that it
did not compute."""


class Notes(NamedTuple):
    """The notes on one number of one run, each empty where there is none."""

    missing: str = ""
    no_option: str = ""
    no_interval: str = ""
    refused: str = ""
    weights: str = ""
    comparable: str = ""
    reference: str = ""
    reasons: str = ""
    unfinished: str = ""
    subset: str = ""
    left_out: str = ""

    def __str__(self) -> str:
        return "; ".join(filter(None, self))


@dataclass(frozen=True)
class NumberRow:
    """A metric over a task, group or slice, one number a run (None: the run has none).

    ``notes`` are those of all runs, ``own_notes`` those of each; ``unlike`` says for
    each run after the first why its number does not compare with the first one's, empty
    where it does; ``absent`` says for each run what stands in the place of a number,
    empty where there is one. Of a whole, ``pieces`` are the metrics that it is made of,
    as one number of theirs where it is ``of_averages``, and ``partial`` says for each
    run whether it lacks some of them.
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
    own_notes: tuple[Notes, ...]
    notes: str
    pieces: frozenset[str]
    of_averages: bool
    partial: tuple[bool, ...]

    @property
    def label(self) -> str:
        """The slice, or the alias of a whole."""
        return self.slice or self.alias

    @property
    def is_known(self) -> bool:
        """Whether a run has a value."""
        return any(
            result is not None and result.value is not None for result in self.results
        )


def number_rows(
    documents: Sequence[ResultsDocument],
    names: Sequence[str],
    *,
    every_slice: bool = False,
    repeats: bool | None = None,
    empty: bool = False,
) -> list[NumberRow]:
    """The rows of some runs, which ``names`` tells apart in the notes.

    Of several breakdowns of a task the first is taken, unless every slice is wanted. A
    number that repeats another one is there only with ``repeats`` (None: as every slice
    is). With ``empty``, a task or group without any number has a row without a metric.
    """
    tables = [results_of(document) for document in documents]
    shown = dict.fromkeys(
        name for document in documents for name in document.get("group_subtasks", {})
    )
    members = groups_of(documents)
    reasons = [
        NumberReasons(table.values(), members, _pieces(document, "without"))
        for table, document in zip(tables, documents, strict=True)
    ]
    pieces = [_pieces(document, "pieces") for document in documents]
    averages = [
        _pieces(document, "pieces", only="of_averages") for document in documents
    ]
    left_out = (
        set()
        if (every_slice if repeats is None else repeats)
        else _repeated(tables, pieces)
    )
    found: list[NumberRow] = []
    for task, depth in depths(shown, members).items():
        keys = dict.fromkeys(key for table in tables for key in table)
        own = [key for key in keys if key.task == task and key not in left_out]
        for key in slice_by_slice(own, every=every_slice) or [Key(task, "")] * empty:
            results = tuple(table.get(key) for table in tables)
            row = _row(
                key,
                depth,
                results,
                documents,
                names,
                members=members,
                reasons=reasons,
                pieces=pieces,
                averages=averages,
            )
            found.append(row)
    return found


def results_of(document: ResultsDocument) -> dict[Key, Result]:
    """The numbers of a results file by their names."""
    found = (
        Result.from_json(row) for row in document.get("mmeval", {}).get("results", ())
    )
    return {Key.of(result): result for result in found}


def groups_of(documents: Iterable[ResultsDocument]) -> dict[str, list[str]]:
    """The members of each group."""
    return {
        name: list(members)
        for document in documents
        for name, members in document.get("group_subtasks", {}).items()
        if members
    }


def _pieces(document: ResultsDocument, which: str, only: str = "outputs") -> Pieces:
    """The ``pieces`` of each derived number, or those that it is ``without``; ``only``
    of entries that have a key."""
    return {
        (task, output): tuple(entry[which])
        for task, metrics in document.get("mmeval", {}).get("metrics", {}).items()
        for entry in metrics.values()
        for output in entry.get("outputs", ())
        if entry.get(which) and entry.get(only)
    }


def _repeated(
    tables: Sequence[Mapping[Key, Result]], pieces: Sequence[Pieces]
) -> set[Key]:
    """The numbers that repeat another row in each of the runs."""
    needed: set[Key] = set()
    repeats: set[Key] = set()
    for table, own in zip(tables, pieces, strict=True):
        alike = repeated(table.values(), own)
        repeats |= alike
        needed |= table.keys() - alike
    return repeats - needed


def _row(
    key: Key,
    depth: int,
    results: tuple[Result | None, ...],
    documents: Sequence[ResultsDocument],
    names: Sequence[str],
    *,
    members: Mapping[str, Sequence[str]],
    reasons: Sequence[NumberReasons],
    pieces: Sequence[Pieces],
    averages: Sequence[Pieces],
) -> NumberRow:
    known = next((result for result in results if result is not None), None)
    inside = sorted(tasks_inside(key.task, members))
    first = documents[0]
    differences = tuple(
        unlike(first, other, inside, key.metric) if first and other else ""
        for other in documents[1:]
    )
    own = tuple(
        Notes()
        if result is None and key.metric
        else _notes(key, result, document, members, own_reasons)
        for result, document, own_reasons in zip(
            results, documents, reasons, strict=True
        )
    )
    notes = list(_together(names, [list(filter(None, notes)) for notes in own]))
    notes += [
        f"{name} does not compare with {names[0]}: {why}"
        for name, why, result in zip(names[1:], differences, results[1:], strict=True)
        if why and results[0] is not None and result is not None
    ]
    made_of = (own.get((task, key.metric), ()) for own in pieces for task in inside)
    aliases = (
        document.get("results", {}).get(key.task, {}).get("alias")
        for document in documents
    )
    versions = (document.get("versions", {}).get(key.task) for document in documents)
    return NumberRow(
        task=key.task,
        alias=str(next(filter(None, aliases), key.task)),
        depth=depth + bool(key.slice),
        slice=key.slice,
        version="" if key.slice else str(next(filter(None, versions), "")),
        metric=key.metric,
        higher_is_better=known is None or known.higher_is_better,
        is_group=key.task in members,
        results=results,
        unlike=differences,
        absent=tuple(
            _absent(key.task, *pair) for pair in zip(results, documents, strict=True)
        ),
        own_notes=own,
        notes="; ".join(dict.fromkeys(notes)),
        pieces=frozenset(() if key.slice else chain.from_iterable(made_of)),
        of_averages=any(
            (task, key.metric) in own for own in averages for task in inside
        ),
        partial=tuple(
            result is not None and own_reasons.is_partial(result)
            for result, own_reasons in zip(results, reasons, strict=True)
        ),
    )


def _absent(task: str, result: Result | None, document: ResultsDocument) -> str:
    if result is not None:
        return ""
    return (
        NOT_THERE
        if not document or task in document.get("group_subtasks", {})
        else NOT_ASKED
    )


def _together(names: Sequence[str], own: Sequence[Sequence[str]]) -> Iterator[str]:
    """The notes of each run by its name; those that all runs share come once."""
    shared = [note for note in own[0] if all(note in notes for notes in own)]
    yield from shared
    for name, notes in zip(names, own, strict=True):
        if rest := [note for note in notes if note not in shared]:
            yield f"{name}: {'; '.join(rest)}"


def _notes(
    key: Key,
    result: Result | None,
    document: ResultsDocument,
    members: Mapping[str, Sequence[str]],
    reasons: NumberReasons,
) -> Notes:
    """Notes: a slice omits how much was asked; a group compares if all its tasks do."""
    ours: Mapping[str, Any] = document.get("mmeval", {})
    if key.task in ours.get("left_out", ()):
        return Notes(left_out=NO_DATA)
    inside = tasks_inside(key.task, members)
    left_out = inside & set(ours.get("left_out", ()))
    foreign = "not comparable" if inside & set(ours.get("not_comparable", ())) else ""
    is_group = key.task in members
    told = (
        "uses reference information"
        if inside & set(ours.get("uses_reference", ()))
        else ""
    )
    notes = Notes(comparable=foreign, reference=told)
    if result is not None:
        notes = notes._replace(
            missing=missing(result),
            no_option=no_option(result),
            no_interval=no_interval(result),
            refused=refused(result),
            weights=weights(result),
            reasons=reasons.of(result),
        )
    if key.slice:
        return notes
    unfinished = [
        row for task, row in ours.get("unfinished", {}).items() if task in inside
    ]
    subsets = [
        row
        for task, row in ours.get("subset", {}).items()
        if task in inside and is_subset(row)
    ]
    return notes._replace(
        unfinished=_share("unfinished", unfinished, "made", is_group),
        subset=_share("subset", subsets, "chosen", is_group),
        left_out=f"{len(left_out)} of {len(inside)} tasks left out" if left_out else "",
    )


def is_subset(row: Mapping[str, Any]) -> bool:
    """Whether samples were left out, as far as that is known."""
    return row.get("of") is None or row["chosen"] < row["of"]


def _share(
    what: str, rows: Sequence[Mapping[str, Any]], counted: str, is_group: bool
) -> str:
    """``subset: 3,000 of 31,026``; of a group the word alone."""
    if not rows or is_group:
        return what if rows else ""
    of = rows[0].get("of")
    return f"{what}: {rows[0][counted]:,}" + ("" if of is None else f" of {of:,}")
