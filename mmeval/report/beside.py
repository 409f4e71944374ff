"""The numbers of a baseline beside those of a run, from the two results files alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mmeval.errors import MmevalError
from mmeval.records.score import Key
from mmeval.report.baseline import Baseline, Column, read_baseline
from mmeval.report.numbers import number_rows
from mmeval.results.stored_run import StoredRun


class Beside(NamedTuple):
    """The column of a baseline (None: there is none to show), and what is to be said of it."""

    column: Column | None
    notes: tuple[str, ...] = ()


def beside(run: StoredRun, baseline: Baseline | None) -> Beside:
    """The column for a run's page: of ``baseline``, else of the one that the run's settings name."""
    if not run.results:
        return Beside(None)
    named = (run.ours.get("settings") or {}).get("baseline")
    if baseline is None and not named:
        return Beside(None)
    try:
        found = baseline or read_baseline(Path(str(named)))
    except (MmevalError, OSError) as error:
        return Beside(None, (f"The baseline of the run is not shown: {error}",))
    if run.results_file is not None and found.file.resolve() == run.results_file.resolve():
        return Beside(None, (f"The baseline of the run is not shown: {named} now holds the results of this run.",))
    return _compared(run, found)


def _compared(run: StoredRun, baseline: Baseline) -> Beside:
    """Numbers that were made in another way are left out, each with its reason."""
    header = baseline.header
    values: dict[Key, float] = {}
    said: dict[str, None] = {}
    for row in number_rows([baseline.document, run.results], [header, run.model], every_slice=True):
        other, own = row.results
        if own is None or other is None or other.value is None:
            continue
        if why := row.unlike[0]:
            said[f"The baseline's {row.task} {row.metric} is not shown: {why}."] = None
        else:
            values[Key.of(own)] = other.value
    return Beside(Column(header, values), (f"Baseline: {header}, {baseline.file}.", *said))
