"""Findings of checks, with how to fix them. A check that fails is a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mmeval.errors import EXIT_MISSING, Caught, MmevalError

Status = Literal["ok", "note", "missing", "broken"]
"""``ok``: works. ``note``: hint. ``missing``: needed and not here. ``broken``: does not
work."""


@dataclass(frozen=True)
class Finding:
    """One finding. ``how_to`` is the command or setting that fixes it, or empty.
    ``required``: the asked tasks cannot run without it. ``metric`` is the one that
    ``what`` is about, if any."""

    status: Status
    what: str
    how_to: str = ""
    required: bool = False
    metric: str = ""

    @property
    def blocks(self) -> bool:
        return self.required and self.status in ("missing", "broken")

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "what": self.what,
            "how_to": self.how_to,
            "required": self.required,
        }


class Section(NamedTuple):
    """Findings about one subject. ``word`` names a task on a command line."""

    name: str
    findings: tuple[Finding, ...]
    word: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "findings": [finding.to_json() for finding in self.findings],
        }


Check = Callable[[], Iterable[Finding]]


def section(
    name: str, *checks: Check, required: bool = False, word: str = ""
) -> Section:
    """Run checks of a subject; ``required``: failed checks concern the asked tasks."""
    return Section(
        name,
        tuple(
            finding
            for check in checks
            for finding in _careful(check, required=required)
        ),
        word,
    )


def _careful(check: Check, *, required: bool) -> Iterator[Finding]:
    with Caught() as failure:  # of packages, disk or network
        yield from check()
    if not failure:
        return
    error = failure.error
    if isinstance(error, MmevalError):
        yield Finding(status_of(error), str(error), required=required)
    else:
        name = getattr(check, "__name__", "") or getattr(
            getattr(check, "func", None), "__name__", "a check"
        )
        fault = failure.reason if str(error) else type(error).__name__
        yield Finding(
            "broken",
            f"{name.replace('_', ' ')} could not be checked ({fault})",
            required=required,
        )


def status_of(error: MmevalError) -> Status:
    """The status of what raised an error: missing or broken."""
    return "missing" if error.exit_code == EXIT_MISSING else "broken"


def sound(sections: Iterable[Section], *, asked: bool) -> bool:
    """Whether the ``asked`` tasks can run; without any, whether nothing is broken."""
    findings = [finding for item in sections for finding in item.findings]
    if asked:
        return not any(finding.blocks for finding in findings)
    return all(finding.status != "broken" for finding in findings)
