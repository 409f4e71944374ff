"""Describes a run in words: its tasks and samples, and what a reader needs to know
about the numbers."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mmeval.findings.finding import Finding
from mmeval.findings.render import NOWHERE, RemedyTarget, page_rows
from mmeval.report.page.index import SampleCounts
from mmeval.results.certificates import audited_judges
from mmeval.results.compare import judges_in
from mmeval.results.numbers import number_rows
from mmeval.results.stored_run import StoredRun

MOST_NAMED = 5
"""The largest number of tasks or models that are named individually."""


def lead(
    run: StoredRun,
    tally: Mapping[str, int],
    sample_counts: SampleCounts,
) -> list[str]:
    """Describes the run in one sentence. If it has no numbers, its progress is added.
    ``tally`` is the number of trials by status."""
    if not run.results:
        return list(_without_numbers(run, tally))
    # the number of samples, the judges, and whether a number is comparable
    rows = number_rows([run.results], [run.name], empty=True)
    outermost = dict.fromkeys(row.alias for row in rows if not row.depth)
    names = _listed(list(outermost))
    counts = f"samples: {sample_counts.samples:,}"
    if sample_counts.samples != sample_counts.chosen:
        counts += f" of {sample_counts.chosen:,}"
    if sample_counts.trials > sample_counts.samples:
        counts += f", trials with repeats: {sample_counts.trials:,}"
    models: dict[str, list[str]] = {}
    judging = judges_in(run.ours, run.ours.get("judges", ()))
    for role, model in sorted(judging):
        models.setdefault(role, []).append(model)
    judges = [f"the {role} was {_listed(names)}" for role, names in models.items()]
    if not judges:
        judges = ["no judge was called"]
    if not compares(run):
        judges.append("no number is comparable with published numbers")
    return [f"{run.model} was run on {names} ({counts}); {_listed(judges)}."]


def notes(run: StoredRun) -> list[str]:
    """Returns notes that a reader needs before using the numbers. The page lists
    elsewhere what was missing before the run."""
    findings = []
    for finding in run.findings:
        is_in_lead = finding.kind == "not_comparable" and not compares(run)
        if not is_in_lead and not finding.kind.startswith("missing"):
            findings.append(finding)
    all_notes = []
    informed = list(run.ours.get("uses_reference", ()))
    if informed:
        all_notes.append(f"Prompts contain reference information: {_listed(informed)}.")
    all_notes += _audits(run)
    all_notes += _handshakes(run)
    all_notes += in_words(findings)
    if run.other_tasks:
        others = _listed(run.other_tasks)
        all_notes.append(f"Also in the folder, from earlier commands: {others}.")
    return all_notes


def _audits(run: StoredRun) -> Iterator[str]:
    """Yields a note with the audit of each judge of the run."""
    # an audit has the requested name, and the server may report another one
    judges = set()
    for rows in run.ours.get("judges", {}).values():
        for row in rows:
            judges |= {row.get("asked"), row.get("served")}
    for audited in audited_judges(run.folder):
        if audited.judge not in judges:
            continue
        words = [f"checks: {len(audited.checks):,}"]
        for verdict in ("fault", "unknown"):
            checks = audited.with_verdict(verdict)
            if checks:
                words.append(f"{verdict}: {_listed(checks)}")
        facts = "; ".join(words)
        yield f"Audit of {audited.judge} ({facts}; certificate {audited.digest})."


def _handshakes(run: StoredRun) -> Iterator[str]:
    """Yields a note with the results of the handshake of each role."""
    for role, probes in run.record.get("handshakes", {}).items():
        facts = []
        for probe in probes:
            fact = f"{probe['capability']}: {probe['verdict']}"
            if probe["evidence"]:
                fact += f" ({probe['evidence']})"
            facts.append(fact)
        yield f"Handshake with the {role}: {'; '.join(facts)}."


def in_words(
    findings: Iterable[Finding], place: RemedyTarget = NOWHERE
) -> Iterator[str]:
    """Yields findings as notes of a page."""
    for row in page_rows(findings, place):
        remedy = f": {row['remedy']}" if row["remedy"] else ""
        yield f"{row['label']}: {row['text']}{remedy}"


def _without_numbers(run: StoredRun, tally: Mapping[str, int]) -> Iterator[str]:
    tasks = _listed([task.alias for task in run.tasks]) if run.tasks else "nothing yet"
    yield f"{run.model} was run on {tasks}. There are no numbers yet."
    trials = sum(tally.values())
    words = [f"{trials:,} made"]
    for status in ("scored", "refused", "failed", "unsupported"):
        if tally.get(status):
            words.append(f"{tally[status]:,} {status}")
    yield f"Trials: {', '.join(words)}."
    if not run.record.get("finished"):
        yield (
            "The run is not finished. Run its command again to continue it and to "
            "compute the numbers."
        )
    if trials:
        command = f"mmeval score {shlex.quote(str(run.folder))}"
        yield f"To compute the numbers of these trials: {command}"


def compares(run: StoredRun) -> bool:
    """Returns whether the numbers of any task are comparable with published numbers."""
    not_comparable = run.ours.get("not_comparable", ())
    return any(task.name not in not_comparable for task in run.tasks)


def _listed(names: Sequence[str]) -> str:
    shown = [*names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        shown.append(f"{len(names) - MOST_NAMED} more")
    if not shown:
        return "nothing"
    last = shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last
