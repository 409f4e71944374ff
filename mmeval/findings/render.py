"""Findings for people: on a terminal, on the page of a run, and in Markdown."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mmeval.findings.finding import Finding, Kind
from mmeval.findings.group import SHOWN, Group, grouped
from mmeval.findings.words import LABELS
from mmeval.system.wording import listed, printable, shortened

WIDTH = 80
MOST = 10
"""Groups of one kind that are shown; the others are counted."""
_MAX_CHARS = 2000
_MAX_EXAMPLE = 100
_GAP = "  "
_OF_MARKDOWN = re.compile(r"([\\`*<|\[\]])")
"""The signs that Markdown reads as more than themselves, also within a word."""


@dataclass(frozen=True)
class Place:
    """What stands for ``{TASK}`` and ``{RUN}`` in remedies: words of a command
    line."""

    tasks: str = "TASK"
    run: str = "RUN"

    def command(self, remedy: str) -> str:
        return remedy.replace("{TASK}", self.tasks).replace("{RUN}", self.run)


NOWHERE = Place()


def terminal_lines(
    findings: Iterable[Finding], place: Place = NOWHERE, width: int = WIDTH
) -> list[str]:
    """A line for each group: kind, subject, count, cause; below it the remedy."""
    groups = grouped(findings)
    widths = [len(LABELS[group.kind]) for group in groups]
    column = max(widths, default=0) + len(_GAP)
    indent = " " * column
    lines: list[str] = []
    for label, text, remedy in _rows(groups, place):
        lines += textwrap.wrap(
            f"{label:{column}}{text}",
            width,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += command_lines(remedy, indent, width)
    return lines


def command_lines(
    command: str,
    indent: str,
    width: int = WIDTH,
) -> list[str]:
    """A command that can be pasted; a long one goes on behind a backslash."""
    if not command:
        return []
    line = one_line(command)
    if len(indent) + len(line) <= width:
        return [indent + line]
    words = _shell_words(command)
    room = width - len(" \\")
    lines = [indent + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > room:
            lines[-1] += " \\"
            lines.append(f"{indent}  {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def one_line(command: str) -> str:
    """A command without line breaks and other control characters."""
    return command if command.isprintable() else " ".join(_shell_words(command))


def _shell_words(command: str) -> list[str]:
    """The words of a command, each as it is typed in a shell."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation that is not closed: not for a shell
        return [printable(command, limit=_MAX_CHARS)]
    typed: list[str] = []
    for word in words:
        if word == "&&":  # between two commands
            typed.append(word)
        elif word.isprintable():
            typed.append(shlex.quote(word))
        else:
            safe = word.replace("\\", "\\\\").replace("'", "\\'")
            for char in set(safe):
                if not char.isprintable():
                    code = char.encode("unicode_escape").decode()
                    safe = safe.replace(char, code)
            typed.append(f"$'{safe}'")
    return typed


def page_rows(
    findings: Iterable[Finding], place: Place = NOWHERE
) -> list[dict[str, str]]:
    """The groups for a template of the page."""
    rows = []
    for label, text, remedy in _rows(grouped(findings), place):
        rows.append({"label": label, "text": text, "remedy": one_line(remedy)})
    return rows


def markdown_lines(findings: Iterable[Finding], place: Place = NOWHERE) -> list[str]:
    """A list: an item for each group, and in it the remedy as code."""
    lines = []
    for label, text, remedy in _rows(grouped(findings), place):
        words = _OF_MARKDOWN.sub(r"\\\1", text.replace(_GAP, ", "))
        lines.append(f"- **{label}** {words}")
        if remedy:
            lines += ["", "  ```", f"  {one_line(remedy)}", "  ```", ""]
    return lines


def _rows(
    groups: Sequence[Group],
    place: Place,
) -> Iterator[tuple[str, str, str]]:
    """Label, text and remedy of each group, and how many of a kind are not shown. A
    single one that is left is shown, as its line takes no more room than the count."""
    of_kind = Counter(group.kind for group in groups)
    shown: Counter[Kind] = Counter()
    left: Counter[Kind] = Counter()
    for group in groups:
        if shown[group.kind] == MOST and of_kind[group.kind] > MOST + 1:
            left[group.kind] += 1
            continue
        shown[group.kind] += 1
        text = printable(group_text(group), limit=_MAX_CHARS)
        yield LABELS[group.kind], text, place.command(group.remedy)
    for kind, count in left.items():
        yield LABELS[kind], f"and {count:,} more like these", ""


def group_text(group: Group) -> str:
    """``clip_score in t, u  12 of 80  openai/clip: not here``. Behind the cause
    stands one example."""
    parts = [subject_text(group)]
    if group.of:
        parts.append(f"{group.count:,} of {group.of:,}")
    elif group.count:
        parts.append(f"{group.count:,}")
    parts.append(cause_text(group))
    if group.example:
        example = shortened(" ".join(group.example.split()), _MAX_EXAMPLE)
        parts[-1] += f', for example: "{example}"'
    return _GAP.join(part for part in parts if part)


def cause_text(group: Group) -> str:
    """The cause, after the names of weights: their subject is the metric."""
    cause = " ".join(group.cause.split())
    if group.kind == "missing_weights":
        cause = f"{listed(group.names('name'), SHOWN)}: {cause}"
    return cause


def causes(findings: Iterable[Finding]) -> str:
    """The different causes in one text, without what they are the cause of."""
    return "; ".join(cause_text(group) for group in grouped(findings))


def subject_text(group: Group) -> str:
    """The narrowest names of the subjects, and the tasks that they are in."""
    tasks = group.names("task")
    names = group.places
    for field in ("sample", "metric", "role", "name"):
        names = names or group.names(field)
    if not names:
        return listed(tasks, SHOWN)
    inside = f" in {len(tasks):,} tasks"
    if len(tasks) < 2:
        inside = "".join(f" in {task}" for task in tasks)
    return f"{listed(names, SHOWN)}{inside}"
