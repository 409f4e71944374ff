"""The numbers of another run, to stand beside those of this one in its tables; nothing of them enters a file."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, MmevalError, UsageError
from mmeval.records.score import Key, Result
from mmeval.report.numbers import number_rows
from mmeval.results.compare import Making, difference, made, served
from mmeval.results.groups import tasks_inside
from mmeval.results.stored_run import StoredRun
from mmeval.run.options import RunOutcome
from mmeval.scoring.verdict_log import Served
from mmeval.task.task import Task, TaskMetric


@dataclass(frozen=True)
class Column:
    """The numbers of a baseline below their header."""

    header: str
    values: Mapping[Key, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Baseline:
    """What a results file says. ``document`` is its content: JSON values."""

    file: Path
    document: Mapping[str, Any]

    @property
    def numbers(self) -> dict[Key, Result]:
        found = (Result.from_json(row) for row in self.ours["results"])
        return {Key.of(result): result for result in found}

    @property
    def ours(self) -> Mapping[str, Any]:
        """What the layout of lm-evaluation-harness has no place for."""
        found: Mapping[str, Any] = self.document["mmeval"]
        return found

    def beside(self, outcome: RunOutcome) -> tuple[Column, list[str]]:
        """The column that belongs beside a run's numbers, and what is to be said of it. Numbers that were made in
        another way (version, data, protocol, definition of the metric, judge) are left out of it, each with its reason.
        """
        theirs = self.numbers
        values: dict[Key, float] = {}
        said: dict[str, None] = {}
        unknown: dict[str, None] = {}
        for result in (*outcome.results, *outcome.group_results):
            other = theirs.get(Key.of(result))
            if other is None and not result.slice:
                unknown[_lacking(result, theirs)] = None
            if other is None or other.value is None:
                continue
            name = f"the baseline's {result.task} {result.metric}"
            if why := self._why_not(result, outcome):
                said[f"{name} is not shown: {why}"] = None
                continue
            values[Key.of(result)] = other.value
            if other.n != result.n and not result.slice:
                said[f"{name} stands for {other.n} trials, that of this run for {result.n}"] = None
        if unknown:
            said[f"N/A beside this run: the baseline ({self.file.parent}) has {', '.join(unknown)}"] = None
        return Column(self.header, values), list(said)

    @property
    def header(self) -> str:
        """Who was asked; of a model in a folder, the last part of its path."""
        name = str(self.document.get("model_name", "baseline"))
        is_folder = name.startswith(("/", "./", "../", "~")) or os.path.isdir(name)  # noqa: PTH112  takes any text
        return (Path(name).name or name) if is_folder else name

    def _why_not(self, result: Result, outcome: RunOutcome) -> str:
        """Why a number does not compare with that of this run; empty where it does."""
        tasks = {task.name: task for task in outcome.selection}
        groups = {group.name: group.members for group in outcome.selection.groups}
        reasons = (
            self._difference(task, result.metric, outcome)
            for name in tasks_inside(result.task, groups)
            if (task := tasks.get(name)) is not None
        )
        return next(filter(None, reasons), "")

    def _difference(self, task: Task, output: str, outcome: RunOutcome) -> str:
        """The difference in how a number was made; of a derived one, in how its pieces were made as well."""
        before, entry = made(self.document, task.name, output), _entry(task, output)
        if entry is None or not entry.bound.metric.judged:
            before = replace(before, judges=frozenset())
        own = difference(before, _made_now(task, entry, outcome))
        pieces = () if entry is None else entry.bound.pieces
        return own or next(filter(None, (self._difference(task, piece, outcome) for piece in pieces)), "")


def read_baseline(path: Path) -> Baseline:
    """The newest results file of a run folder, or one that is named itself.

    Raises MissingDataError where there is none, UsageError for a file that is none.
    """
    file = path
    if path.is_dir():
        file = max(path.glob("results_*.json"), key=lambda found: found.name, default=path)
    if not file.is_file():
        raise MissingDataError(
            f"--baseline {path}: there is no results_*.json; give the folder of a run that has ended"
        )
    try:
        document = json.loads(file.read_bytes())
        baseline = Baseline(file, document)
        _ = baseline.numbers
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UsageError(f"--baseline {file}: this is no results file of mmeval; give a results_*.json") from None
    return baseline


def _lacking(result: Result, theirs: Collection[Key]) -> str:
    if any(key.task == result.task for key in theirs):
        return f"no metric {result.metric} of {result.task}"
    return f"no task {result.task}"


def _entry(task: Task, output: str) -> TaskMetric | None:
    return next((entry for entry in task.metrics if output in entry.bound.metric.outputs), None)


def _made_now(task: Task, entry: TaskMetric | None, outcome: RunOutcome) -> Making:
    definition: dict[str, Any] = {}
    judges: Iterable[Served] = ()
    if entry is not None:
        switches = json.loads(json.dumps(entry.bound.described))
        definition = {"version": entry.bound.metric.version, "switches": switches, "aggregation": entry.aggregation}
        judges = outcome.judges.get(task.name, ()) if entry.bound.metric.judged else ()
    return Making(
        task=task.name,
        version=task.version,
        comparable=task.comparable,
        protocol=task.protocol_name,
        metric=definition,
        judges=served(map(asdict, judges)),
    )


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
