"""Groups the numbers without a value by cause."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from mmeval.findings.finding import Finding
from mmeval.findings.group import grouped
from mmeval.findings.render import RemedyTarget, cause_text, page_rows
from mmeval.records.score import Result
from mmeval.report.page.links import link
from mmeval.results.compare import metrics_of
from mmeval.results.groups import tasks_inside
from mmeval.results.numbers import NumberRow, ResultsDocument, groups_of


def not_computed(
    rows: Sequence[NumberRow],
    documents: Sequence[ResultsDocument],
    *,
    uncounted: bool,
    run: str = "RUN",
) -> list[dict[str, Any]]:
    """Returns the rows without a value in any run, for the template, by cause and
    remedy. A number with two causes is listed under both causes."""
    # Imported late: it imports tasks and their media, which a comparison does not need.
    from mmeval.run.availability import words_for

    members = groups_of(documents)
    by_finding: dict[Finding, list[NumberRow]] = {}
    for row in rows:
        if not row.metric or row.is_known:
            continue
        tasks = {row.task, *tasks_inside(row.task, members)}
        findings = _findings(row.metric, tasks, documents)
        lost = [result and (result.failed or result.unscored) for result in row.results]
        if not findings or any(lost):
            findings = {_by_counts(row.results): None}
        for finding in findings:
            by_finding.setdefault(finding, []).append(row)
    ours = documents[0].get("mmeval", {})
    tasks_of_run = words_for(ours.get("settings", {}), ours.get("metrics", {}))
    place = RemedyTarget(tasks_of_run, run)
    shown = []
    for group in grouped(by_finding):
        rows_of_group: dict[int, NumberRow] = {}
        for finding in group.findings:
            rows_of_group |= {id(row): row for row in by_finding[finding]}
        metrics: dict[tuple[str, str], list[str]] = {}
        for row in rows_of_group.values():
            name = f"{row.alias}, {row.slice}" if row.slice else row.alias
            href = link(row, uncounted=uncounted)
            metrics.setdefault((name, href), []).append(row.metric)
        places = []
        for (name, href), names in metrics.items():
            places.append({"name": name, "href": href, "metrics": ", ".join(names)})
        (words,) = page_rows(group.findings, place)
        shown.append({**words, "text": cause_text(group), "places": places})
    return shown


def _findings(
    metric: str, tasks: Collection[str], documents: Sequence[ResultsDocument]
) -> dict[Finding, None]:
    """Returns the distinct findings in the results files about the metrics of a
    number."""
    findings: dict[Finding, None] = {}
    for document in documents:
        ours = document.get("mmeval", {})
        for row in ours.get("findings", ()):
            finding = Finding.from_json(row)
            subject = finding.subject
            metrics = metrics_of(ours, subject.task)
            outputs = metrics.get(subject.metric, {}).get("outputs", ())
            if subject.task in tasks and metric in outputs:
                findings[finding] = None
    return findings


def _by_counts(results: Sequence[Result | None]) -> Finding:
    """Explains why no trial has a score although the metric was available."""
    known = [result for result in results if result is not None]
    if any(result.suspended for result in known):
        return Finding("suspended", cause="scoring stopped before it was complete")
    if known and all(result.unsupported == result.n for result in known):
        cause = "the model does not support the inputs or outputs of the samples"
        return Finding("unsupported", cause=cause)
    if any(result.has_nothing_to_score for result in known):
        return Finding(
            "unscored", cause="no answer contains anything that the metric can score"
        )
    if any(result.failed for result in known):
        return Finding("failed", cause="no trial has a score")
    return Finding("unscored", cause="no trial has a score")
