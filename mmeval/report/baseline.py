"""Another run's numbers as a column of this one's tables; no file contains them."""

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
from mmeval.run.availability import log_findings


@dataclass(frozen=True)
class BaselineColumn:
    """The numbers of a baseline, all with a value, below their header."""

    header: str
    values: Mapping[Key, Result] = field(default_factory=dict)


class ShownBaseline(NamedTuple):
    """The column of a baseline (None: there is none to show), with what is wrong with
    it, and notes for a page."""

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
        """The name of the model; of one in a folder, the last part of its path."""
        name = str(self.document.get("model_name", "baseline"))
        is_folder = name.startswith(("/", "./", "../", "~")) or os.path.isdir(name)  # noqa: PTH112  takes any text
        if is_folder:
            name = Path(name).name or name
        return name

    def shown_with(self, document: ResultsDocument) -> ShownBaseline:
        """The baseline's column beside a run's numbers, by its results file's content.
        Numbers that were made in another way (version, data, protocol, definition of
        metric, judge) are left out."""
        theirs = results_of(self.document)
        tasks = {key.task for key in theirs}
        members = groups_of([document])
        protocols = document["mmeval"].get("protocols")
        values: dict[Key, Result] = {}
        findings: dict[Finding, None] = {}
        for key, own in results_of(document).items():
            other = theirs.get(key)
            subject = Subject(key.task, key.metric)
            if other is None:
                if not key.slice:
                    if key.task not in tasks:
                        subject = Subject(key.task)
                    cause = f"the baseline has no such number: {self.file.parent}"
                    lack = Finding("not_comparable", subject, cause=cause)
                    findings[replace(lack, severity="note")] = None
                continue
            if other.value is None:
                continue
            inside = tasks_inside(key.task, members)
            if protocols is not None:
                # tasks that the run left out are no difference
                inside &= set(protocols)
            why = unlike(self.document, document, sorted(inside), key.metric)
            if why:
                cause = f"the baseline's number is not shown: {why}"
                findings[Finding("not_comparable", subject, cause=cause)] = None
                continue
            values[key] = other
            if other.n != own.n and not key.slice:
                cause = f"trials: {other.n:,} in the baseline, {own.n:,} in this run"
                subset = Finding("subset", Subject(key.task), cause=cause)
                findings[replace(subset, severity="note")] = None
        return ShownBaseline(BaselineColumn(self.header, values), tuple(findings))


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
    if named is None:
        return None
    own = newest_results(run, {"settings": settings})
    found = _other_run(str(named), own)
    if isinstance(found, Baseline):
        return found
    log_findings("the baseline of the run is not shown:", [found])
    return None


def baseline_of_run(run: StoredRun, baseline: Baseline | None) -> ShownBaseline:
    """The column for a run's page: of ``baseline``, else of the one in its settings."""
    named = (run.ours.get("settings") or {}).get("baseline")
    if not run.results or (baseline is None and not named):
        return ShownBaseline()
    found: Baseline | Finding
    if baseline is None or _is_of(baseline.file, run.results_file):
        found = _other_run(str(named), run.results_file)
    else:
        found = baseline
    if isinstance(found, Finding):
        reason = f"The baseline of the run is not shown: {found.cause}"
        return ShownBaseline(notes=(reason,))
    column, findings, _ = found.shown_with(run.results)
    notes = [f"Baseline: {found.header}, {found.file}."]
    shown = [finding for finding in findings if finding.severity == "warning"]
    notes += [f"{row['label']}: {row['text']}" for row in page_rows(shown)]
    return ShownBaseline(column, findings, notes)


def _other_run(named: str, own: Path | None) -> Baseline | Finding:
    """A baseline by the name that a run has recorded, or why it is not shown."""
    subject = Subject(name="--baseline")
    try:
        found = read_baseline(Path(named))
    except (MmevalError, OSError) as error:
        return finding_of(error, subject, "warning")
    if _is_of(found.file, own):
        cause = f"{named} now holds the results of this run"
        return Finding("not_comparable", subject, cause=cause)
    return found


def _is_of(baseline: Path, results: Path | None) -> bool:
    return results is not None and baseline.resolve() == results.resolve()
