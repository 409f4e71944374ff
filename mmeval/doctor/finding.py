"""Findings: what a look at something has shown, with what mends it. A look that fails is a finding too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from mmeval.errors import EXIT_MISSING, Caught, MmevalError

Status = Literal["ok", "note", "missing", "broken"]
"""``ok``: as it should be. ``note``: worth knowing. ``missing``: not here, and something needs it. ``broken``: it is
here and does not work."""


@dataclass(frozen=True)
class Finding:
    """One thing. ``how_to`` is the command or setting that mends it, empty where nothing has to be mended; ``required``
    says that the tasks that were asked for cannot run without it. ``metric`` is the one of which ``what`` begins to
    tell, where there is one."""

    status: Status
    what: str
    how_to: str = ""
    required: bool = False
    metric: str = ""

    @property
    def blocks(self) -> bool:
        return self.required and self.status in ("missing", "broken")

    def to_json(self) -> dict[str, Any]:
        return {"status": self.status, "what": self.what, "how_to": self.how_to, "required": self.required}


class Section(NamedTuple):
    """Findings about one subject. Of a task, ``word`` is what a command is given for it."""

    name: str
    findings: tuple[Finding, ...]
    word: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "findings": [finding.to_json() for finding in self.findings]}


Check = Callable[[], Iterable[Finding]]


def section(name: str, *checks: Check, required: bool = False, word: str = "") -> Section:
    """What the checks of a subject find. ``required``: what the asked tasks need is a check that fails."""
    return Section(name, tuple(finding for check in checks for finding in _careful(check, required=required)), word)


def _careful(check: Check, *, required: bool) -> Iterator[Finding]:
    with Caught() as failure:  # of packages, disk or network
        yield from check()
    if not failure:
        return
    error = failure.error
    if isinstance(error, MmevalError):
        yield Finding(status_of(error), str(error), required=required)
    else:
        name = getattr(check, "__name__", "") or getattr(getattr(check, "func", None), "__name__", "a check")
        said = failure.reason if str(error) else type(error).__name__
        yield Finding("broken", f"{name.replace('_', ' ')} could not be looked at ({said})", required=required)


def status_of(error: MmevalError) -> Status:
    """What an error says of what was looked at: that it is not here, or that it does not work."""
    return "missing" if error.exit_code == EXIT_MISSING else "broken"


def sound(sections: Iterable[Section], *, asked: bool) -> bool:
    """Whether what was ``asked`` for can run; where nothing was, whether nothing is broken."""
    findings = [finding for item in sections for finding in item.findings]
    if asked:
        return not any(finding.blocks for finding in findings)
    return all(finding.status != "broken" for finding in findings)
