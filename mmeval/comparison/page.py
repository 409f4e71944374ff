"""The page of a comparison: the samples on which runs differ, with their answers beside
each other.

It is a report page of all runs, with fewer trials: of each sample what came out (won,
lost, tied, or a score in one run alone) and by how much. The trials with the largest
differences are taken, and all others while there is room.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from mmeval._version import __version__
from mmeval.comparison.compare import Comparison
from mmeval.comparison.run_pair import Piece, RunPair
from mmeval.comparison.text import tables_of_comparison
from mmeval.report.charts.chosen import ranges_of
from mmeval.report.headline import headline_rows
from mmeval.report.page.chunks import script
from mmeval.report.page.headlines import headline_gauges
from mmeval.report.page.shell import run_rows, write_shell
from mmeval.report.page.tables import layout_table
from mmeval.report.page.writer import (
    PREVIEW_SECONDS,
    PageWriter,
    WrittenPage,
    new_report,
)
from mmeval.results.numbers import NumberRow, number_rows
from mmeval.store.paths import TrialFilter

OUTCOMES = ("won", "lost", "tied", "one-sided")
WON, LOST, TIED, ONE_SIDED = range(4)
MOST = 2_000
"""Pairs of trials on a page: what a reader may go through, and what is written in a few
seconds."""
_ONE_SIDED_SIZE = 1e-9
"""Where trials stand that only one run has a score of: below every difference, above
ties."""

TrialPlace = tuple[int, int]
"""A sample's place in the data and a repeat."""


class TrialOutcome(NamedTuple):
    """How a trial of ``run`` came out beside the reference; a place is None where a run
    lacks the trial. ``size`` is the difference as a share of the metric's range."""

    run: int
    task: str
    reference: TrialPlace | None
    place: TrialPlace | None
    kind: int
    difference: float | None
    size: float


def write_comparison(found: Comparison, folder: Path) -> WrittenPage:
    """Write the page into ``folder``, in place of the report there.
    Raises UsageError for a folder that holds something else, StorageError."""
    folder = folder.resolve()
    every: list[TrialOutcome] = []
    for number, pair in enumerate(found.pairs, 1):
        every += outcomes(number, pair, found.rows)
    every.sort(key=lambda outcome: -outcome.size)
    shown = every[:MOST]
    # the places of trials to show, by run and task
    wanted: dict[tuple[int, str], set[TrialPlace]] = {}
    for outcome in shown:
        places = ((0, outcome.reference), (outcome.run, outcome.place))
        for number, place in places:
            if place is not None:
                wanted.setdefault((number, outcome.task), set()).add(place)

    with new_report(folder, "mmeval compare") as new:
        writer = PageWriter(
            new,
            folder,
            preview_seconds=PREVIEW_SECONDS,
            copy_media=False,
            baseline=None,
        )
        for number, run in enumerate(found.runs):

            def chosen(task: str, number: int = number) -> TrialFilter:
                places = wanted.get((number, task), ())
                return lambda index, repeat: (index, repeat) in places

            writer.write_run(run, chosen)
        made = datetime.now()
        index = writer.finish(made, found.rows)
        index["outcomes"] = OUTCOMES
        index["rows"] |= _columns(index, shown)
        (new / "data" / "index.js").write_bytes(script("index", index))
        context = _context(found, every, writer.damaged)
        context["made"] = made.strftime("%Y-%m-%d %H:%M:%S")
        write_shell(new, context)
    for run in found.runs:
        run.close()
    return writer.made


def outcomes(
    run: int,
    pair: RunPair,
    rows: Sequence[NumberRow],
) -> Iterator[TrialOutcome]:
    """How each trial of ``run`` came out, by the first compared number of its task,
    else of a group that holds it."""
    done: set[str] = set()
    for row in sorted(rows, key=lambda row: row.is_group):
        pieces: dict[str, list[Piece]] = {}
        for piece in pair.a.pieces(row.task, row.metric):
            pieces.setdefault(piece.task, []).append(piece)
        for task, own in pieces.items():
            if task not in done:
                done.add(task)
                yield from _of_task(run, pair, task, own, row.higher_is_better)


def _of_task(
    run: int, pair: RunPair, task: str, pieces: Sequence[Piece], higher: bool
) -> Iterator[TrialOutcome]:
    a, b = pair.a.scores(task), pair.b.scores(task)
    matches = pair.matches(task)
    if a is None or b is None or matches is None:
        return
    numbers = [piece.number for piece in pieces]
    known = [name for name in numbers if name in a.values and name in b.values]
    if not known:
        return
    trials: list[tuple[int | None, int | None]] = [*matches.both]
    trials += [(at, None) for at in matches.only_a]
    trials += [(None, at) for at in matches.only_b]
    found: list[tuple[int | None, int | None, float | None]] = []
    for at, other in trials:
        differences = []
        has_one = False
        for name in known:
            own = None if at is None else a.values[name][at]
            others = None if other is None else b.values[name][other]
            if own is not None and others is not None:
                differences.append(others - own)
            elif own is not None or others is not None:
                has_one = True
        if differences:
            found.append((at, other, math.fsum(differences) / len(differences)))
        elif has_one:
            found.append((at, other, None))

    low, high = a.columns[known[0]].range
    width = high - low
    if not math.isfinite(width):
        known_differences = [abs(trial[2]) for trial in found if trial[2] is not None]
        width = max(known_differences, default=0.0)
    for at, other, difference in found:
        kind, size = ONE_SIDED, _ONE_SIDED_SIZE
        if difference is not None:
            kind, size = TIED, abs(difference) / (width or 1.0)
            if difference:
                kind = WON if (difference > 0) == higher else LOST
        yield TrialOutcome(
            run=run,
            task=task,
            reference=None if at is None else a.trial_place(at),
            place=None if other is None else b.trial_place(other),
            kind=kind,
            difference=difference,
            size=size,
        )


def _columns(
    index: Mapping[str, Any], shown: Sequence[TrialOutcome]
) -> dict[str, list[Any]]:
    """Outcome (-1: none), difference and size of each row; of a trial that a run lacks
    they are at the reference's."""
    known: dict[tuple[int, str, TrialPlace | None], TrialOutcome] = {}
    for outcome in shown:
        run, place = outcome.run, outcome.place
        if place is None:
            run, place = 0, outcome.reference
        known[run, outcome.task, place] = outcome
    rows = index["rows"]
    columns: dict[str, list[Any]] = {
        "outcome": [],
        "difference": [],
        "size": [],
    }
    for number, sample, repeat in zip(
        rows["task"], rows["index"], rows["repeat"], strict=True
    ):
        task = index["tasks"][number]
        own = known.get((task["run"], task["name"], (sample, repeat)))
        columns["outcome"].append(-1 if own is None else own.kind)
        columns["difference"].append(None if own is None else own.difference)
        columns["size"].append(0 if own is None else own.size)
    return columns


def _context(
    found: Comparison, every: Sequence[TrialOutcome], damaged: int
) -> dict[str, Any]:
    documents, names = [run.results for run in found.runs], list(found.names)
    rows = number_rows(documents, names)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} runs"
    counts = Counter(outcome.kind for outcome in every)
    lead = (
        f"{others} compared with {names[0]}: {counts[WON]:,} won, {counts[LOST]:,} "
        f"lost, {counts[TIED]:,} tied"
    )
    if counts[ONE_SIDED]:
        lead += f", {counts[ONE_SIDED]:,} with a score in one run alone"
    summary: list[dict[str, Any]] = []
    for name in names:
        summary.append({"name": name, "lead": [], "notes": []})
    summary[0]["lead"].append(f"{lead}.")
    notes = []
    if len(every) > MOST:
        notes.append(
            f"The samples are those with the {MOST:,} largest of {len(every):,} "
            "differences."
        )
    if damaged:
        notes.append(f"Damaged records, not shown: {damaged:,}.")
    return {
        "title": f"{others} and {names[0]}",
        "mmeval": __version__,
        "runs": run_rows(found.runs),
        "summary": summary,
        "notes": notes,
        "answers": [],
        "missing": 0,
        "absent": [],
        "tables": [],
        "layouts": [],
        "charts": [],
        "headlines": headline_gauges(headline_rows(rows), names, ranges_of(documents)),
        "comparison": [layout_table(table) for table in tables_of_comparison(found)],
        "count": min(len(every), MOST),
    }
