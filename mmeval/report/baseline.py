"""Another run's numbers as a column of this one's tables; no file contains them."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, MmevalError, UsageError
from mmeval.records.score import Key, Result
from mmeval.report.numbers import ResultsDocument, groups_of, results_of
from mmeval.results.compare import unlike
from mmeval.results.groups import tasks_inside
from mmeval.results.stored_run import StoredRun, newest_results, read_results
from mmeval.wording import counted

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Column:
    """The numbers of a baseline, all with a value, below their header."""

    header: str
    values: Mapping[Key, Result] = field(default_factory=dict)


class Beside(NamedTuple):
    """The column of a baseline (None: there is none to show), with notes on it.
    ``unlike`` are the numbers that are not in it, with their reasons."""

    column: Column | None = None
    unlike: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Baseline:
    """A results file and its content."""

    file: Path
    document: ResultsDocument

    @property
    def header(self) -> str:
        """The name of the model; of one in a folder, the last part of its path."""
        name = str(self.document.get("model_name", "baseline"))
        is_folder = name.startswith(("/", "./", "../", "~")) or os.path.isdir(name)  # noqa: PTH112  takes any text
        return (Path(name).name or name) if is_folder else name

    def beside(self, document: ResultsDocument) -> Beside:
        """The baseline's column beside a run's numbers, by its results file's content.
        Numbers that were made in another way (version, data, protocol, definition of
        metric, judge) are left out."""
        theirs = results_of(self.document)
        values: dict[Key, Result] = {}
        differing: dict[str, None] = {}
        notes: dict[str, None] = {}
        unknown: dict[str, None] = {}
        for key, own in results_of(document).items():
            other = theirs.get(key)
            if other is None:
                has_task = any(one.task == key.task for one in theirs)
                lacks = (
                    f"{key.metric} of {key.task}" if has_task else f"task {key.task}"
                )
                unknown.update({} if key.slice else {lacks: None})
            elif other.value is not None:
                if why := self._why_not(key, document):
                    differing[
                        f"the baseline's {key.task} {key.metric} is not shown: {why}"
                    ] = None
                    continue
                values[key] = other
                if other.n != own.n and not key.slice:
                    notes[
                        f"the baseline has {counted(other.n, 'trial')} of {key.task}, "
                        f"this run {own.n:,}"
                    ] = None
        if unknown:
            notes[
                f"the baseline ({self.file.parent}) has no number for "
                f"{', '.join(unknown)}"
            ] = None
        return Beside(Column(self.header, values), tuple(differing), tuple(notes))

    def _why_not(self, key: Key, document: ResultsDocument) -> str:
        """Tasks that the run left out are no difference."""
        inside = tasks_inside(key.task, groups_of([document]))
        asked = inside & set(document["mmeval"].get("protocols", inside))
        return unlike(self.document, document, sorted(asked), key.metric)


def read_baseline(path: Path) -> Baseline:
    """The newest results file of a run folder, or the file itself.

    Raises MissingDataError where there is none, UsageError for a file of something
    else.
    """
    file = newest_results(path, {}) or path if path.is_dir() else path
    if not file.is_file():
        raise MissingDataError(
            f"--baseline {path}: there is no results_*.json; give the folder of a run "
            "that has ended"
        )
    try:
        document = read_results(file)
    except UsageError:
        raise UsageError(
            f"--baseline {file}: this is no results file of this mmeval, or is "
            "damaged; give a results_*.json"
        ) from None
    return Baseline(file, document)


def recorded_baseline(settings: Mapping[str, Any], run: Path) -> Baseline | None:
    """The baseline in the settings of a run. Where it cannot be read, or is the run
    itself, that is one warning."""
    named = settings.get("baseline")
    try:
        found = None if named is None else read_baseline(Path(str(named)))
    except (MmevalError, OSError) as error:
        log.warning("the baseline of the run is not shown: %s", error)
        return None
    if found is not None and _is_of(
        found.file, newest_results(run, {"settings": settings})
    ):
        log.warning(
            "the baseline of the run is not shown: %s now holds the results of this "
            "run",
            named,
        )
        return None
    return found


def beside(run: StoredRun, baseline: Baseline | None) -> Beside:
    """The column for a run's page: of ``baseline``, else of the one in its settings."""
    named = (run.ours.get("settings") or {}).get("baseline")
    if not run.results or (baseline is None and not named):
        return Beside()
    try:
        found = baseline or read_baseline(Path(str(named)))
    except (MmevalError, OSError) as error:
        return Beside(notes=(f"The baseline of the run is not shown: {error}",))
    if _is_of(found.file, run.results_file):
        return Beside(
            notes=(
                f"The baseline of the run is not shown: {named} now holds the results "
                "of this run.",
            )
        )
    column, differing, _ = found.beside(run.results)
    reasons = (f"{why[:1].upper()}{why[1:]}." for why in differing)
    return Beside(column, notes=(f"Baseline: {found.header}, {found.file}.", *reasons))


def _is_of(baseline: Path, results: Path | None) -> bool:
    return results is not None and baseline.resolve() == results.resolve()
