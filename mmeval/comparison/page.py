"""The page of a comparison: samples on which runs differ, with answers side by side.

It is a report page of all runs, with only some of the trials. Each sample shows its
outcome (won, lost, tied, or a score in one run only) and the size of the difference.
The trials with the largest differences come first, up to ``MOST``.
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
from mmeval.comparison.page_tables import comparison_tables, forest_plots
from mmeval.comparison.run_pair import Piece, RunPair
from mmeval.comparison.text import gate_sentences
from mmeval.comparison.verdict import verdict_sentences
from mmeval.report.charts.chosen import ranges_of
from mmeval.report.page.chunks import script
from mmeval.report.page.prompts import prompt_rows
from mmeval.report.page.shell import chart_rows, run_rows, write_shell
from mmeval.report.page.writer import (
    PREVIEW_SECONDS,
    PageWriter,
    WrittenPage,
    new_report,
)
from mmeval.results.numbers import NumberRow
from mmeval.store.paths import TrialFilter

OUTCOMES = ("won", "lost", "tied", "one-sided")
WON, LOST, TIED, ONE_SIDED = range(4)
MOST = 2_000
"""The maximum number of pairs of trials on a page. A reader can look through this
number of pairs, and the page is written within seconds."""
_ONE_SIDED_SIZE = 1e-9
"""The size given to trials with a score in only one run. With this size, they are
sorted after differences and before ties."""

TrialPlace = tuple[int, int]
"""A sample's index in the data, and the number of the repeat."""


class TrialOutcome(NamedTuple):
    """The outcome of a trial of ``run`` compared with the reference. ``reference`` and
    ``place`` locate the trial in both runs. They are None if the run lacks the trial.
    ``size`` is the difference as a share of the metric's range."""

    run: int
    task: str
    reference: TrialPlace | None
    place: TrialPlace | None
    kind: int
    difference: float | None
    size: float


def write_comparison(comparison: Comparison, folder: Path) -> WrittenPage:
    """Writes the page into ``folder`` and replaces a report there. Raises UsageError
    for a folder that contains something else, and StorageError."""
    folder = folder.resolve()
    all_outcomes: list[TrialOutcome] = []
    for number, pair in enumerate(comparison.pairs, 1):
        all_outcomes += outcomes(number, pair, comparison.rows)
    all_outcomes.sort(key=lambda outcome: -outcome.size)
    shown = all_outcomes[:MOST]
    # the places of trials to show, by run and task
    places_shown: dict[tuple[int, str], set[TrialPlace]] = {}
    for outcome in shown:
        places = ((0, outcome.reference), (outcome.run, outcome.place))
        for number, place in places:
            if place is not None:
                places_shown.setdefault((number, outcome.task), set()).add(place)

    with new_report(folder, "mmeval compare") as new:
        writer = PageWriter(
            new,
            folder,
            preview_seconds=PREVIEW_SECONDS,
            copy_media=False,
            baseline=None,
        )
        for number, run in enumerate(comparison.runs):

            def chosen(task: str, number: int = number) -> TrialFilter:
                places = places_shown.get((number, task), ())
                return lambda index, repeat: (index, repeat) in places

            writer.write_run(run, chosen)
        now = datetime.now()
        index = writer.finish(now, comparison.rows)
        index["outcomes"] = OUTCOMES
        index["rows"] |= _columns(index, shown)
        (new / "data" / "index.js").write_bytes(script("index", index))
        context = _context(comparison, all_outcomes, writer.damaged)
        context["made"] = now.strftime("%Y-%m-%d %H:%M:%S")
        write_shell(new, context)
    for run in comparison.runs:
        run.close()
    return writer.written


def outcomes(
    run: int,
    pair: RunPair,
    rows: Sequence[NumberRow],
) -> Iterator[TrialOutcome]:
    """Yields the outcome of each trial of ``run``. The outcome is decided by the first
    compared number of the trial's task, or else of its group."""
    tasks_done: set[str] = set()
    for row in sorted(rows, key=lambda row: row.is_group):
        pieces: dict[str, list[Piece]] = {}
        for piece in pair.a.pieces(row.task, row.metric):
            pieces.setdefault(piece.task, []).append(piece)
        for task, task_pieces in pieces.items():
            if task not in tasks_done:
                tasks_done.add(task)
                yield from _of_task(run, pair, task, task_pieces, row.higher_is_better)


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
    trials += [(place_a, None) for place_a in matches.only_a]
    trials += [(None, place_a) for place_a in matches.only_b]
    results: list[tuple[int | None, int | None, float | None]] = []
    for place_a, place_b in trials:
        differences = []
        has_score = False
        for name in known:
            value_a = None if place_a is None else a.values[name][place_a]
            value_b = None if place_b is None else b.values[name][place_b]
            if value_a is not None and value_b is not None:
                differences.append(value_b - value_a)
            elif value_a is not None or value_b is not None:
                has_score = True
        if differences:
            results.append(
                (place_a, place_b, math.fsum(differences) / len(differences))
            )
        elif has_score:
            results.append((place_a, place_b, None))

    low, high = a.columns[known[0]].range
    width = high - low
    if not math.isfinite(width):
        known_differences = [abs(trial[2]) for trial in results if trial[2] is not None]
        width = max(known_differences, default=0.0)
    for place_a, place_b, difference in results:
        kind, size = ONE_SIDED, _ONE_SIDED_SIZE
        if difference is not None:
            kind, size = TIED, abs(difference) / (width or 1.0)
            if difference:
                kind = WON if (difference > 0) == higher else LOST
        yield TrialOutcome(
            run=run,
            task=task,
            reference=None if place_a is None else a.trial_place(place_a),
            place=None if place_b is None else b.trial_place(place_b),
            kind=kind,
            difference=difference,
            size=size,
        )


def _columns(
    index: Mapping[str, Any], shown: Sequence[TrialOutcome]
) -> dict[str, list[Any]]:
    """Returns the outcome (-1: none), difference and size of each row. If a run lacks a
    trial, the three values are in the row of the reference."""
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
        row_outcome = known.get((task["run"], task["name"], (sample, repeat)))
        columns["outcome"].append(-1 if row_outcome is None else row_outcome.kind)
        columns["difference"].append(
            None if row_outcome is None else row_outcome.difference
        )
        columns["size"].append(0 if row_outcome is None else row_outcome.size)
    return columns


def _context(
    comparison: Comparison, all_outcomes: Sequence[TrialOutcome], damaged: int
) -> dict[str, Any]:
    names = list(comparison.names)
    others = names[1] if len(names) == 2 else f"{len(names) - 1} runs"
    counts = Counter(outcome.kind for outcome in all_outcomes)
    lead = (
        f"Trials, {others} against {names[0]}: {counts[WON]:,} won, {counts[LOST]:,} "
        f"lost, {counts[TIED]:,} tied"
    )
    if counts[ONE_SIDED]:
        lead += f", {counts[ONE_SIDED]:,} with a score in one run only"
    summary: list[dict[str, Any]] = []
    prompts: list[dict[str, Any]] = []
    for name, run in zip(names, comparison.runs, strict=True):
        summary.append({"name": name, "lead": [], "notes": []})
        prompts += prompt_rows(run, name)
    verdicts = [f"{sentence}." for sentence in verdict_sentences(comparison)]
    gate = " ".join(gate_sentences(comparison))
    if gate:
        verdicts.append(gate)
    summary[0]["lead"] = [*verdicts, f"{lead}."]
    ranges = ranges_of([run.results for run in comparison.runs])
    notes = []
    if len(all_outcomes) > MOST:
        notes.append(
            f"The page shows the {MOST:,} largest of {len(all_outcomes):,} differences."
        )
    if damaged:
        notes.append(f"Damaged records, not shown: {damaged:,}.")
    return {
        "title": f"{others} and {names[0]}",
        "mmeval": __version__,
        "runs": run_rows(comparison.runs),
        "summary": summary,
        "notes": notes,
        "answers": [],
        "missing": 0,
        "absent": [],
        "pivots": list(comparison_tables(comparison)),
        "layouts": [],
        "charts": [],
        "headlines": [],
        "prompts": prompts,
        "plots": chart_rows(list(forest_plots(comparison, ranges))),
        "count": min(len(all_outcomes), MOST),
    }
