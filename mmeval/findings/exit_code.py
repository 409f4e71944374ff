"""The exit code of a command, from its findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_MISSING,
    EXIT_OK,
    EXIT_UNEXPECTED,
    EXIT_USAGE,
)
from mmeval.findings.finding import Finding, Kind

_CODES: Mapping[Kind, int] = {
    "task_file": EXIT_USAGE,
    "setting": EXIT_USAGE,
    "missing_data": EXIT_MISSING,
    "missing_extra": EXIT_MISSING,
    "missing_role": EXIT_MISSING,
    "missing_weights": EXIT_MISSING,
    "missing_key": EXIT_MISSING,
    "package": EXIT_MISSING,
    "machine": EXIT_MISSING,
    "plugin": EXIT_UNEXPECTED,
    "damaged": EXIT_UNEXPECTED,
}
"""Exit codes by kind of finding. All other kinds result in EXIT_INCOMPLETE, because
the results are then incomplete."""
_ORDER = (EXIT_USAGE, EXIT_MISSING, EXIT_UNEXPECTED, EXIT_INCOMPLETE)
"""The codes, ordered by which errors the user has to fix first."""


def exit_code(findings: Iterable[Finding]) -> int:
    """Returns 0 if there are no errors, else the code of the error to fix first."""
    codes = set()
    for finding in findings:
        if finding.severity == "error":
            codes.add(_CODES.get(finding.kind, EXIT_INCOMPLETE))
    for code in _ORDER:
        if code in codes:
            return code
    return EXIT_OK
