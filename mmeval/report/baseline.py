"""Shows the numbers of another run, the baseline, as a column of a run's tables (not
its files)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from mmeval.errors import MissingDataError, MmevalError, UsageError
from mmeval.findings.finding import Finding, Subject
from mmeval.findings.from_error import finding_of
from mmeval.findings.render import page_rows
from mmeval.records.score import Key, Result
from mmeval.results.compare import unlike
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import ResultsDocument, groups_of, results_of
from mmeval.results.stored_run import StoredRun, newest_results, read_results


@dataclass(frozen=True)
class BaselineColumn:
    """The numbers of a baseline that have a value, and the header of their column."""

    header: str
    values: Mapping[Key, Result] = field(default_factory=dict)


class ShownBaseline(NamedTuple):
    """The column of a baseline (None without a baseline), its findings, and notes for a
    page."""

    column: BaselineColumn | None = None
    findings: Sequence[Finding] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Baseline:
    """A results file and its content."""

    file: Path
    document: ResultsDocument

    @property
    def header(self) -> str:
        """The name of the model. For a model in a folder, it is the name of the
        folder."""
        name = str(self.document.get("model_name", "baseline"))
        is_folder = name.startswith(("/", "./", "../", "~")) or os.path.isdir(name)  # noqa: PTH112  takes any text
        if is_folder:
            name = Path(name).name or name
        return name

    def shown_with(self, document: ResultsDocument) -> ShownBaseline:
        """Returns the baseline's column for the numbers of a run's results file.
        Numbers that are not comparable (other version, data, protocol, metric
        definition or judge) are left out."""
        baseline_results = results_of(self.document)
        tasks = {key.task for key in baseline_results}
        members = groups_of([document])
        protocols = document["mmeval"].get("protocols")
        values: dict[Key, Result] = {}
        findings: dict[Finding, None] = {}
        for key, result in results_of(document).items():
            other = baseline_results.get(key)
            subject = Subject(key.task, key.metric)
            if other is None:
                if not key.slice:
                    if key.task not in tasks:
                        subject = Subject(key.task)
                    cause = (
                        f"the baseline does not have this number: {self.file.parent}"
                    )
                    missing = Finding("not_comparable", subject, cause=cause)
                    findings[replace(missing, severity="note")] = None
                continue
            if other.value is None:
                continue
            inside = tasks_inside(key.task, members)
            if protocols is not None:
                # tasks that the run left out do not count as a difference
                inside &= set(protocols)
            why = unlike(self.document, document, sorted(inside), key.metric)
            if why:
                cause = f"the baseline's number is not shown: {why}"
                findings[Finding("not_comparable", subject, cause=cause)] = None
                continue
            values[key] = other
            if other.n != result.n and not key.slice:
                cause = f"trials: {other.n:,} in the baseline, {result.n:,} in this run"
                subset = Finding("subset", Subject(key.task), cause=cause)
                findings[replace(subset, severity="note")] = None
        return ShownBaseline(BaselineColumn(self.header, values), tuple(findings))


def read_baseline(path: Path) -> Baseline:
    """Read the newest results file of a run folder, or the given results file.

    Raises MissingDataError if there is none, and UsageError for any other file.
    """
    file = newest_results(path, {}) or path if path.is_dir() else path
    if not file.is_file():
        raise MissingDataError(
            f"--baseline {path} has no results_*.json; give the folder of a finished "
            "run"
        )
    try:
        document = read_results(file)
    except UsageError:
        raise UsageError(
            f"--baseline {file} is damaged, or is not a results file of this mmeval; "
            "give a results_*.json"
        ) from None
    return Baseline(file, document)


def recorded_baseline(settings: Mapping[str, Any], run: Path) -> Baseline | None:
    """Returns the baseline in the settings of a run. Logs a warning if it cannot be
    read, or is the run itself."""
    path = settings.get("baseline")
    if path is None:
        return None
    results_file = newest_results(run, {"settings": settings})
    baseline = _other_run(str(path), results_file)
    if isinstance(baseline, Baseline):
        return baseline
    # Imported late: it imports tasks and their media, which a report seldom needs.
    from mmeval.run.availability import log_findings

    log_findings("the baseline of the run is not shown:", [baseline])
    return None


def baseline_of_run(run: StoredRun, baseline: Baseline | None) -> ShownBaseline:
    """Returns the column for a run's page, from ``baseline`` or else from the baseline
    in the run's settings."""
    path = (run.ours.get("settings") or {}).get("baseline")
    if not run.results or (baseline is None and not path):
        return ShownBaseline()
    other: Baseline | Finding
    if baseline is None or _is_of(baseline.file, run.results_file):
        other = _other_run(str(path), run.results_file)
    else:
        other = baseline
    if isinstance(other, Finding):
        reason = f"The baseline of the run is not shown: {other.cause}"
        return ShownBaseline(notes=(reason,))
    column, findings, _ = other.shown_with(run.results)
    notes = [f"Baseline: {other.header}, {other.file}."]
    shown = [finding for finding in findings if finding.severity == "warning"]
    notes += [f"{row['label']}: {row['text']}" for row in page_rows(shown)]
    return ShownBaseline(column, findings, notes)


def _other_run(path: str, results_file: Path | None) -> Baseline | Finding:
    """Returns the baseline at a recorded path, or the reason why that baseline is not
    shown."""
    subject = Subject(name="--baseline")
    try:
        baseline = read_baseline(Path(path))
    except (MmevalError, OSError) as error:
        return finding_of(error, subject, "warning")
    if _is_of(baseline.file, results_file):
        cause = f"{path} now contains the results of this run"
        return Finding("not_comparable", subject, cause=cause)
    return baseline


def _is_of(baseline: Path, results: Path | None) -> bool:
    return results is not None and baseline.resolve() == results.resolve()
