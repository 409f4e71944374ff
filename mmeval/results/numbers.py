"""Builds rows of the numbers of one or more results files: groups, tasks and slices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
"""The content of a results file as JSON values; empty for a run without one."""

NO_DATA = "left out: its data are missing"
NOT_ASKED = "not asked"
NOT_THERE = "no number"
"""Shown instead of a number if a run lacks the task or did not compute the metric."""


class NumberNotes(NamedTuple):
    """The notes on one number of one run; a field without a note is empty."""

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
    """One metric over a task, group or slice, with one number per run.

    - ``results``: one per run; None if a run has no number
    - ``unlike``: for each run after the first, why its number is not comparable with
      the number of the first run; empty if it is comparable
    - ``absent``: for each run, the text instead of a number; empty with a number
    - ``own_notes``: for each run, its notes; ``notes`` joins the notes of all runs
    - ``pieces``: the metrics from which a number over all samples is computed;
      ``of_averages`` is True if it is computed from their averages
    - ``partial``: for each run, True if pieces are missing
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
    own_notes: tuple[NumberNotes, ...]
    notes: str
    pieces: frozenset[str]
    of_averages: bool
    partial: tuple[bool, ...]

    @property
    def label(self) -> str:
        """The slice; the alias if the row covers a whole task or group."""
        return self.slice or self.alias

    @property
    def is_known(self) -> bool:
        """True if any run has a value."""
        values = [result.value for result in self.results if result is not None]
        return any(value is not None for value in values)


def number_rows(
    documents: Sequence[ResultsDocument],
    names: Sequence[str],
    *,
    every_slice: bool = False,
    repeats: bool | None = None,
    empty: bool = False,
) -> list[NumberRow]:
    """Returns the rows of one or more runs. ``names`` are the names of the runs in
    notes.

    Only the first breakdown of a task is included, unless ``every_slice`` is set. A
    number that repeats another number is included only with ``repeats`` (None: same as
    ``every_slice``). With ``empty``, a task or group without numbers has a row without
    a metric.
    """
    members = groups_of(documents)
    shown: dict[str, None] = {}
    keys: dict[Key, None] = {}
    tables = []
    reasons = []
    pieces = []
    averages = []
    for document in documents:
        table = results_of(document)
        shown |= dict.fromkeys(document.get("group_subtasks", {}))
        keys |= dict.fromkeys(table)
        tables.append(table)
        without = _pieces(document, "without")
        reasons.append(NumberReasons(table.values(), members, without))
        pieces.append(_pieces(document, "pieces"))
        averages.append(_pieces(document, "pieces", only="of_averages"))
    if repeats is None:
        repeats = every_slice
    left_out: set[Key] = set()
    if not repeats:
        # the numbers that repeat another row in each of the runs
        needed: set[Key] = set()
        for table, of_table in zip(tables, pieces, strict=True):
            alike = repeated(table.values(), of_table)
            left_out |= alike
            needed |= table.keys() - alike
        left_out -= needed
    rows: list[NumberRow] = []
    for task, depth in depths(shown, members).items():
        row_keys = [key for key in keys if key.task == task and key not in left_out]
        row_keys = slice_by_slice(row_keys, every=every_slice)
        if empty and not row_keys:
            row_keys = [Key(task, "")]
        for key in row_keys:
            row = _row(
                key,
                depth,
                tuple(table.get(key) for table in tables),
                documents,
                names,
                members=members,
                reasons=reasons,
                pieces=pieces,
                averages=averages,
            )
            rows.append(row)
    return rows


def results_of(document: ResultsDocument) -> dict[Key, Result]:
    """Returns the numbers of a results file by key."""
    rows = document.get("mmeval", {}).get("results", ())
    results = [Result.from_json(row) for row in rows]
    return {Key.of(result): result for result in results}


def groups_of(documents: Iterable[ResultsDocument]) -> dict[str, list[str]]:
    """Returns the members of each group."""
    groups = {}
    for document in documents:
        for name, members in document.get("group_subtasks", {}).items():
            if members:
                groups[name] = list(members)
    return groups


def _pieces(
    document: ResultsDocument,
    which: str,
    only: str = "outputs",
) -> Pieces:
    """Returns the pieces of each derived number, from the field ``which`` of its
    metric: ``pieces`` or ``without``. ``only`` is a field that the metric must have."""
    pieces = {}
    metrics_by_task = document.get("mmeval", {}).get("metrics", {})
    for task, metrics in metrics_by_task.items():
        for metric in metrics.values():
            if metric.get(which) and metric.get(only):
                for output in metric.get("outputs", ()):
                    pieces[task, output] = tuple(metric[which])
    return pieces


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
    inside = sorted(tasks_inside(key.task, members))
    known = [result for result in results if result is not None]
    alias = version = ""
    absent: list[str] = []
    own_notes: list[NumberNotes] = []
    partial: list[bool] = []
    for result, document, own_reasons in zip(results, documents, reasons, strict=True):
        entry = document.get("results", {}).get(key.task, {})
        alias = alias or entry.get("alias")
        version = version or document.get("versions", {}).get(key.task)
        is_listed = key.task in document.get("group_subtasks", {})
        replacement = NOT_ASKED if document and not is_listed else NOT_THERE
        absent.append(replacement if result is None else "")
        notes = NumberNotes()
        if result is not None or not key.metric:
            notes = _notes(key, result, document, members, own_reasons)
        own_notes.append(notes)
        partial.append(result is not None and own_reasons.is_partial(result))

    all_notes = _joined_notes(names, own_notes)
    differences = []
    for index in range(1, len(documents)):
        reason = ""
        if documents[0] and documents[index]:
            reason = unlike(documents[0], documents[index], inside, key.metric)
        differences.append(reason)
        if reason and results[0] is not None and results[index] is not None:
            all_notes.append(
                f"{names[index]} is not comparable with {names[0]}: {reason}"
            )

    made_of: set[str] = set()
    of_averages = False
    for task in inside:
        for of_document in pieces:
            made_of.update(of_document.get((task, key.metric), ()))
        if any((task, key.metric) in of_document for of_document in averages):
            of_averages = True
    return NumberRow(
        task=key.task,
        alias=str(alias or key.task),
        depth=depth + bool(key.slice),
        slice=key.slice,
        version="" if key.slice else str(version or ""),
        metric=key.metric,
        higher_is_better=not known or known[0].higher_is_better,
        is_group=key.task in members,
        results=results,
        unlike=tuple(differences),
        absent=tuple(absent),
        own_notes=tuple(own_notes),
        notes="; ".join(dict.fromkeys(all_notes)),
        pieces=frozenset() if key.slice else frozenset(made_of),
        of_averages=of_averages,
        partial=tuple(partial),
    )


def _joined_notes(names: Sequence[str], own_notes: Sequence[NumberNotes]) -> list[str]:
    """Returns the notes that all runs share, then the other notes of each run by
    name."""
    shared = [note for note in own_notes[0] if note]
    for run_notes in own_notes[1:]:
        shared = [note for note in shared if note in run_notes]
    notes_by_run = [*shared]
    for name, run_notes in zip(names, own_notes, strict=True):
        rest = [note for note in run_notes if note and note not in shared]
        if rest:
            notes_by_run.append(f"{name}: {'; '.join(rest)}")
    return notes_by_run


def _notes(
    key: Key,
    result: Result | None,
    document: ResultsDocument,
    members: Mapping[str, Sequence[str]],
    reasons: NumberReasons,
) -> NumberNotes:
    """Returns the notes on a number of one run. Only numbers over all samples get notes
    on unfinished tasks and subsets. A group is not comparable if one of its tasks is
    not comparable."""
    ours: Mapping[str, Any] = document.get("mmeval", {})
    if key.task in ours.get("left_out", ()):
        return NumberNotes(left_out=NO_DATA)
    inside = tasks_inside(key.task, members)
    notes = NumberNotes()
    if not inside.isdisjoint(ours.get("not_comparable", ())):
        notes = notes._replace(comparable="not comparable")
    if not inside.isdisjoint(ours.get("uses_reference", ())):
        notes = notes._replace(reference="uses reference information")
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
    left_out = inside & set(ours.get("left_out", ()))
    if left_out:
        words = f"{len(left_out)} of {len(inside)} tasks left out"
        notes = notes._replace(left_out=words)
    is_group = key.task in members
    unfinished: Mapping[str, Mapping[str, Any]] = ours.get("unfinished", {})
    subsets: Mapping[str, Mapping[str, Any]] = ours.get("subset", {})
    rows = [row for task, row in unfinished.items() if task in inside]
    chosen = [row for task, row in subsets.items() if task in inside]
    chosen = [row for row in chosen if is_subset(row)]
    return notes._replace(
        unfinished=_share("unfinished", rows, "made", is_group),
        subset=_share("subset", chosen, "chosen", is_group),
    )


def is_subset(row: Mapping[str, Any]) -> bool:
    """Returns True if samples were left out, or if their total is unknown."""
    return row.get("of") is None or row["chosen"] < row["of"]


def _share(
    what: str, rows: Sequence[Mapping[str, Any]], counted: str, is_group: bool
) -> str:
    """Returns ``subset: 3,000 of 31,026``; for a group only the word."""
    if not rows:
        return ""
    if is_group:
        return what
    of = rows[0].get("of")
    words = f"{what}: {rows[0][counted]:,}"
    return words if of is None else f"{words} of {of:,}"
