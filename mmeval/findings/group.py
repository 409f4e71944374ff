"""Groups findings of equal kind, cause and remedy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mmeval.findings.finding import KINDS, SEVERITIES, Finding, Kind, Severity

SHOWN = 3
"""Maximum number of names that a list shows. For the others, it states their number."""


@dataclass(frozen=True)
class FindingGroup:
    """Findings that differ only in subject, count and example."""

    findings: tuple[Finding, ...]

    @property
    def kind(self) -> Kind:
        return self.findings[0].kind

    @property
    def severity(self) -> Severity:
        """The highest severity of the findings."""
        severities = {finding.severity for finding in self.findings}
        return min(severities, key=SEVERITIES.index)

    @property
    def cause(self) -> str:
        return self.findings[0].cause

    @property
    def example(self) -> str:
        """The first example."""
        for finding in self.findings:
            if finding.example:
                return finding.example
        return ""

    @property
    def remedy(self) -> str:
        return self.findings[0].remedy

    @property
    def count(self) -> int:
        return sum(finding.count for finding in self.findings)

    @property
    def of(self) -> int:
        return sum(finding.of for finding in self.findings)

    def names(self, field: str) -> tuple[str, ...]:
        """Returns the distinct values of one field of the subjects, in order."""
        values = dict.fromkeys(getattr(item.subject, field) for item in self.findings)
        return tuple(value for value in values if value)

    @property
    def places(self) -> tuple[str, ...]:
        """The files of the subjects, with their lines."""
        places = []
        for finding in self.findings:
            subject = finding.subject
            if subject.file:
                line = f":{subject.line}" if subject.line else ""
                places.append(f"{subject.file}{line}")
        return tuple(dict.fromkeys(places))


def grouped(findings: Iterable[Finding]) -> tuple[FindingGroup, ...]:
    """Groups findings and sorts the groups by severity, then by kind.

    If a finding is repeated, it is included only once.
    """
    by_key: dict[tuple[Kind, str, str], dict[Finding, None]] = {}
    for finding in findings:
        key = (finding.kind, finding.cause, finding.remedy)
        by_key.setdefault(key, {})[finding] = None
    groups = [FindingGroup(tuple(members)) for members in by_key.values()]
    # two stable sorts: the second one keeps the order of kinds within a severity
    groups.sort(key=lambda group: KINDS.index(group.kind))
    groups.sort(key=lambda group: SEVERITIES.index(group.severity))
    return tuple(groups)
