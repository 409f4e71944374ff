"""Findings as text and as JSON."""

from __future__ import annotations

import json
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mmeval.doctor.finding import Finding, Section, Status
from mmeval.wording import of_several, printable

_COLOURS: dict[Status, str] = {
    "ok": "32",
    "note": "33",
    "missing": "31",
    "broken": "31",
}
_WORD = 9
_LONGEST = 2000
MIN_WIDTH = 60


def as_text(
    sections: Sequence[Section], *, colour: bool, width: int | None = None
) -> str:
    """A heading for each section, a line for each finding, and below it how to fix
    it."""
    columns = max(MIN_WIDTH, width or shutil.get_terminal_size((100, 24)).columns)
    lines: list[str] = []
    for item in gathered(sections):
        if item.findings:
            heading = textwrap.wrap(
                printable(item.name, limit=_LONGEST), columns, break_on_hyphens=False
            )
            lines += [
                *(_painted(line, "1", colour=colour) for line in heading),
                *_lines(item.findings, columns, colour=colour),
                "",
            ]
    return "\n".join(lines)


def gathered(sections: Sequence[Section]) -> list[Section]:
    """Gather equal findings of several tasks below all of their names, once. Those of
    several metrics become one; a command that differs only in the task names all of
    them.
    """
    about: dict[Finding, list[tuple[str, str, str]]] = {}
    for item in sections:
        if item.word:
            for finding in item.findings:
                about.setdefault(_alike(finding, item.word), []).append(
                    (item.name, item.word, finding.metric)
                )
    found: dict[tuple[str, ...], Section] = {}
    for finding, entries in about.items():
        names, words, metrics = (
            tuple(dict.fromkeys(column)) for column in zip(*entries, strict=True)
        )
        subject = (
            ""
            if metrics == ("",)
            else f"metric{'s' if len(metrics) > 1 else ''} {', '.join(metrics)}: "
        )
        how_to = finding.how_to.replace("\0", " ".join(words))
        heading = (
            f"Tasks {', '.join(name.removeprefix('Task ') for name in names)}"
            if len(names) > 1
            else names[0]
        )
        before = found.get(names, Section(heading, ()))
        what = of_several(finding.what) if len(metrics) > 1 else finding.what
        whole = replace(finding, what=subject + what, how_to=how_to)
        found[names] = before._replace(findings=(*before.findings, whole))
    first = next((at for at, item in enumerate(sections) if item.word), len(sections))
    others = [item for item in sections[first:] if not item.word]
    return [*sections[:first], *found.values(), *others]


def _alike(finding: Finding, word: str) -> Finding:
    """A finding without its task and its metric, to compare it."""
    what = (
        finding.what.removeprefix(f"metric {finding.metric}: ")
        if finding.metric
        else finding.what
    )
    how_to = re.sub(rf"(?<![\w./-]){re.escape(word)}(?![\w./-])", "\0", finding.how_to)
    return Finding(finding.status, what, how_to)


def as_json(sections: Sequence[Section], *, is_sound: bool, version: str) -> str:
    document = {
        "mmeval": version,
        "sound": is_sound,
        "sections": [item.to_json() for item in sections],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _lines(findings: Sequence[Finding], columns: int, *, colour: bool) -> Iterator[str]:
    for finding in findings:
        word = _painted(
            f"{finding.status:<{_WORD}}", _COLOURS[finding.status], colour=colour
        )
        safe = printable(finding.what, limit=_LONGEST)
        body = textwrap.wrap(
            safe, columns - _WORD - 2, break_long_words=False, break_on_hyphens=False
        ) or [""]
        yield f"  {word}{body[0]}"
        yield from (f"{' ' * (_WORD + 2)}{line}" for line in body[1:])
        if finding.how_to:
            # on one line, to be copied
            yield f"{' ' * (_WORD + 2)}-> {printable(finding.how_to, limit=_LONGEST)}"


def _painted(text: str, code: str, *, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
