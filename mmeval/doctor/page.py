"""Findings for people to read and for machines."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Iterator, Sequence

from mmeval.doctor.finding import Finding, Section, Status
from mmeval.report.markdown import printable

_COLOURS: dict[Status, str] = {"ok": "32", "note": "33", "missing": "31", "broken": "31"}
_WORD = 9
_LONGEST = 2000
MIN_WIDTH = 60


def as_text(sections: Sequence[Section], *, colour: bool, width: int | None = None) -> str:
    """A heading for each section, a line for each finding, below it what mends it."""
    columns = max(MIN_WIDTH, width or shutil.get_terminal_size((100, 24)).columns)
    lines: list[str] = []
    for item in sections:
        if item.findings:
            lines += [_bold(item.name, colour=colour), *_lines(item.findings, columns, colour=colour), ""]
    return "\n".join(lines)


def as_json(sections: Sequence[Section], *, is_sound: bool, version: str) -> str:
    document = {"mmeval": version, "sound": is_sound, "sections": [item.to_json() for item in sections]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _lines(findings: Sequence[Finding], columns: int, *, colour: bool) -> Iterator[str]:
    for finding in findings:
        word = _painted(f"{finding.status:<{_WORD}}", _COLOURS[finding.status], colour=colour)
        body = _wrapped(finding.what, columns)
        yield f"  {word}{body[0]}"
        yield from (f"{' ' * (_WORD + 2)}{line}" for line in body[1:])
        if finding.how_to:
            yield f"{' ' * (_WORD + 2)}-> {printable(finding.how_to, limit=_LONGEST)}"  # on one line, to be copied


def _wrapped(text: str, columns: int) -> list[str]:
    safe = printable(text, limit=_LONGEST)
    wrapped = textwrap.wrap(safe, columns - _WORD - 2, break_long_words=False, break_on_hyphens=False)
    return wrapped or [""]


def _bold(text: str, *, colour: bool) -> str:
    return _painted(text, "1", colour=colour)


def _painted(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
