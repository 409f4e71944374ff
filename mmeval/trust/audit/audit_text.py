"""Formats an audit as text in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmeval.report.short_table import number_text
from mmeval.system.wording import listed, printable
from mmeval.trust.audit.audit import Audit
from mmeval.trust.audit.evidence import CheckResult
from mmeval.trust.text import interval_text, labelled, note, p_text, signed, table

HEADS = ("check", "effect", "95 %", "p", "margin", "smallest seen", "verdict")
"""The columns of a table of checks."""
_MOST_NAMED = 10
_WIDEST_NAME = 18
_DETAILS = {
    "equal": "equal",
    "inconsistent": "inconsistent",
    "bd": "BD",
    "bd_repeat": "BD of a repeat",
    "not_sure": "not sure",
    "full_marks": "full marks",
    "unstable": "unstable",
    "bc": "BC",
    "bc_repeat": "BC of a repeat",
}
"""The further numbers of checks that are printed, with their names."""


def audit_text(result: Audit, width: int) -> str:
    """Returns the text that the command prints: the faults, then each check."""
    lines = labelled("verdict", f"{audit_verdict(result)}.", width)
    lines.append("")
    lines += table(HEADS, map(check_row, result.checks))
    for text in audit_notes(result):
        lines += note(text, width)
    return "".join(f"{line}\n" for line in lines)


def audit_notes(result: Audit) -> Iterator[str]:
    """Yields the further numbers of each check, and the correction of the tests."""
    for row in result.checks:
        details = "; ".join(_details(row))
        if details:
            yield f"{row.check}: {details}"
    tests = sum(row.p_adjusted is not None for row in result.checks)
    if tests > 1:
        yield f"Holm over {tests:,} tests"


def calls_text(
    calls: Mapping[str, int],
    judge: str,
    answers: int,
    dollars: float | None,
    width: int,
) -> str:
    """Returns what a dry run prints: the calls that the judge would get, by check, and
    their price if it is known."""
    cost = "price unknown" if dollars is None else f"about {dollars:,.2f} dollars"
    sentence = (
        f"{printable(judge, limit=_WIDEST_NAME)} would be asked about {answers:,} "
        f"answers, in {sum(calls.values()):,} calls ({cost})."
    )
    lines = labelled("dry run", sentence, width)
    lines.append("")
    rows = [(check, f"{count:,}") for check, count in calls.items()]
    lines += table(("check", "calls"), rows)
    return "".join(f"{line}\n" for line in lines)


def audit_verdict(result: Audit) -> str:
    """Returns the sentence that names the faults, without its full stop."""
    checks = _counted(len(result.checks))
    if result.faults:
        faults = listed(list(result.faults), _MOST_NAMED)
        verb = "finds" if len(result.faults) == 1 else "find"
        return f"{len(result.faults):,} of {checks} {verb} a fault: {faults}"
    unknown = [row.check for row in result.checks if row.word == "unknown"]
    if unknown:
        return (
            f"no fault is seen in {checks}, but "
            f"{listed(unknown, _MOST_NAMED)} could not tell"
        )
    return f"no fault is seen in {checks}"


def _counted(checks: int) -> str:
    return "1 check" if checks == 1 else f"{checks:,} checks"


def check_row(row: CheckResult) -> Sequence[str]:
    """Returns the cells of a check, in the order of the columns."""
    evidence = row.evidence
    return (
        row.check,
        "-" if evidence.value is None else _effect(evidence.value),
        interval_text(evidence.ci95),
        p_text(row.p_adjusted),
        f"{row.margin:.2f}",
        number_text(evidence.smallest_seen),
        row.word,
    )


def _effect(value: float) -> str:
    # adding 0 removes the sign of a rounded -0
    return signed(round(value, 3) + 0.0)


def _details(row: CheckResult) -> Iterator[str]:
    for name, shown in _DETAILS.items():
        value = row.evidence.details.get(name)
        if value is not None:
            yield f"{shown} {value:.2f}"
    for form, value in row.evidence.forms.items():
        yield f"{printable(form, limit=_WIDEST_NAME)} {_effect(value)}"
    if row.evidence.why:
        yield row.evidence.why
