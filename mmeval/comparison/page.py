"""The page of a comparison: the samples on which runs differ, with their answers beside
each other.

It is a report page of all runs, with fewer trials: of each sample what came out (won,
lost, tied, or a score in one run alone) and by how much. The trials with the largest
differences are taken, and all others while there is room.
"""

from __future__ import annotations

import math
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
from mmeval.report.page.tables import paper
from mmeval.report.page.writer import PREVIEW_SECONDS, Made, PageWriter, new_report
from mmeval.results.numbers import NumberRow, number_rows
from mmeval.store.paths import Wanted

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


class Outcome(NamedTuple):
    """How a trial of ``run`` came out beside the reference; a place is None where a run
    lacks the trial. ``size`` is the difference as a share of the metric's range."""

    run: int
    task: str
    reference: TrialPlace | None
    place: TrialPlace | None
    kind: int
    difference: float | None
    size: float


def write_comparison(found: Comparison, folder: Path) -> Made:
    """Write the page into ``folder``, in place of the report there.
    Raises UsageError for a folder that holds something else, StorageError."""
    folder = folder.resolve()
    every = sorted(
        (
            one
            for run, pair in enumerate(found.pairs, 1)
            for one in outcomes(run, pair, found.rows)
        ),
        key=lambda one: -one.size,
    )
    shown = every[:MOST]
    wanted = _wanted(shown)
    with new_report(folder, "mmeval compare") as new:
        writer = PageWriter(
            new,
            folder,
            preview_seconds=PREVIEW_SECONDS,
            copy_media=False,
            baseline=None,
        )
        for number, run in enumerate(found.runs):
            places = wanted.get(number, {})

            def chosen(
                task: str, places: Mapping[str, set[TrialPlace]] = places
            ) -> Wanted:
                own = places.get(task, set())
                return lambda index, repeat: (index, repeat) in own

            writer.write_run(run, chosen)
        made = datetime.now()
        index = writer.finish(made, found.rows)
        index |= {"outcomes": OUTCOMES}
        index["rows"] |= _columns(index, shown)
        (new / "data" / "index.js").write_bytes(script("index", index))
        write_shell(
            new,
            _context(found, every, writer)
            | {"made": made.strftime("%Y-%m-%d %H:%M:%S")},
        )
    for run in found.runs:
        run.close()
    return Made(
        folder / "index.html", writer.previews.left_over, writer.damaged, writer.unread
    )


def outcomes(run: int, pair: RunPair, rows: Sequence[NumberRow]) -> Iterator[Outcome]:
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
) -> Iterator[Outcome]:
    a, b, matched = pair.a.scores(task), pair.b.scores(task), pair.matched(task)
    if a is None or b is None or matched is None:
        return
    known = [
        piece.number
        for piece in pieces
        if piece.number in a.values and piece.number in b.values
    ]
    if not known:
        return
    low, high = a.columns[known[0]].range
    width = high - low
    found: list[tuple[int | None, int | None, float | None, bool]] = []
    for mine, others in matched.both:
        sides = [(a.values[name][mine], b.values[name][others]) for name in known]
        both = [
            theirs - own
            for own, theirs in sides
            if own is not None and theirs is not None
        ]
        has_one = any((own is None) != (theirs is None) for own, theirs in sides)
        found.append(
            (mine, others, math.fsum(both) / len(both) if both else None, has_one)
        )
    found += [
        (at, None, None, any(a.values[name][at] is not None for name in known))
        for at in matched.only_a
    ]
    found += [
        (None, at, None, any(b.values[name][at] is not None for name in known))
        for at in matched.only_b
    ]
    if not math.isfinite(width):
        width = max((abs(one[2]) for one in found if one[2] is not None), default=0.0)
    for at, other, difference, has_one in found:
        if difference is None and not has_one:
            continue  # neither run has a score
        better = (difference or 0.0) * (1 if higher else -1)
        kind = (
            ONE_SIDED
            if difference is None
            else WON
            if better > 0
            else LOST
            if better < 0
            else TIED
        )
        size = (
            _ONE_SIDED_SIZE if difference is None else abs(difference) / (width or 1.0)
        )
        yield Outcome(
            run=run,
            task=task,
            reference=None if at is None else (a.indexes[at], a.names[at][1]),
            place=None if other is None else (b.indexes[other], b.names[other][1]),
            kind=kind,
            difference=difference,
            size=size,
        )


def _wanted(shown: Sequence[Outcome]) -> dict[int, dict[str, set[TrialPlace]]]:
    """The places of trials to show, by run and task."""
    found: dict[int, dict[str, set[TrialPlace]]] = {}
    for one in shown:
        for run, place in ((0, one.reference), (one.run, one.place)):
            if place is not None:
                found.setdefault(run, {}).setdefault(one.task, set()).add(place)
    return found


def _columns(
    index: Mapping[str, Any], shown: Sequence[Outcome]
) -> dict[str, list[Any]]:
    """Outcome (-1: none), difference and size of each row; of a trial that a run lacks
    they are at the reference's."""
    known = {
        (one.run, one.task, one.place)
        if one.place
        else (0, one.task, one.reference): one
        for one in shown
    }
    rows = index["rows"]
    tasks = [(task["run"], task["name"]) for task in index["tasks"]]
    own = [
        known.get((*tasks[task], (place, repeat)))
        for task, place, repeat in zip(
            rows["task"], rows["index"], rows["repeat"], strict=True
        )
    ]
    return {
        "outcome": [-1 if one is None else one.kind for one in own],
        "difference": [None if one is None else one.difference for one in own],
        "size": [0 if one is None else one.size for one in own],
    }


def _context(
    found: Comparison, every: Sequence[Outcome], writer: PageWriter
) -> dict[str, Any]:
    documents, names = [run.results for run in found.runs], list(found.names)
    rows = number_rows(documents, names)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} runs"
    counts = [sum(one.kind == kind for one in every) for kind in range(len(OUTCOMES))]
    lead = (
        f"{others} compared with {names[0]}: {counts[WON]:,} won, {counts[LOST]:,} "
        f"lost, {counts[TIED]:,} tied"
    )
    one_sided = (
        f", {counts[ONE_SIDED]:,} with a score in one run alone"
        if counts[ONE_SIDED]
        else ""
    )
    notes = []
    if len(every) > MOST:
        notes.append(
            f"The samples are those with the {MOST:,} largest of {len(every):,} "
            "differences."
        )
    if writer.damaged:
        notes.append(f"Damaged records, not shown: {writer.damaged:,}.")
    return {
        **{
            "title": f"{others} and {names[0]}",
            "mmeval": __version__,
            "runs": run_rows(found.runs),
        },
        "summary": [
            {
                "name": name,
                "lead": [f"{lead}{one_sided}."] if not at else [],
                "notes": [],
            }
            for at, name in enumerate(names)
        ],
        **{
            "notes": notes,
            "answers": [],
            "missing": 0,
            "absent": [],
            "tables": [],
            "layouts": [],
            "charts": [],
        },
        "headlines": headline_gauges(headline_rows(rows), names, ranges_of(documents)),
        "comparison": [paper(table) for table in tables_of_comparison(found)],
        "count": min(len(every), MOST),
    }
