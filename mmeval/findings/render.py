"""Renders findings for the terminal, the report page and Markdown."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mmeval.findings.finding import Finding, Kind
from mmeval.findings.group import SHOWN, FindingGroup, grouped
from mmeval.findings.words import LABELS
from mmeval.system.wording import listed, printable, shortened, wrapped

WIDTH = 80
MOST = 10
"""Maximum number of groups of one kind that are shown; the others are counted."""
MAX_CHARS = 2000
"""Maximum number of characters of a finding's text."""
_MAX_EXAMPLE = 100
_GAP = "  "
_MARKDOWN_CHARS = re.compile(r"([\\`*<|\[\]])")
"""Characters that have a meaning in Markdown even within a word."""


@dataclass(frozen=True)
class RemedyTarget:
    """Shell words that replace ``{TASK}`` and ``{RUN}`` in remedies."""

    tasks: str = "TASK"
    run: str = "RUN"

    def command(self, remedy: str) -> str:
        return remedy.replace("{TASK}", self.tasks).replace("{RUN}", self.run)


NOWHERE = RemedyTarget()


def terminal_lines(
    findings: Iterable[Finding],
    place: RemedyTarget = NOWHERE,
    width: int = WIDTH,
    most: int = MOST,
) -> list[str]:
    """Returns a line for each group, and below it the remedy.

    The line contains the kind, subject, count and cause. ``most`` is the maximum number
    of groups of one kind.
    """
    groups = grouped(findings)
    widths = [len(LABELS[group.kind]) for group in groups]
    column = max(widths, default=0) + len(_GAP)
    indent = " " * column
    lines: list[str] = []
    for label, text, remedy in _rows(groups, place, most):
        lines += wrapped(f"{label:{column}}{text}", width, indent)
        lines += command_lines(remedy, indent, width)
    return lines


def command_lines(
    command: str,
    indent: str,
    width: int = WIDTH,
) -> list[str]:
    """Returns the lines of a command that can be pasted into a shell.

    A long command is continued after a backslash.
    """
    if not command:
        return []
    line = one_line(command)
    if len(indent) + len(line) <= width:
        return [indent + line]
    words = _shell_words(command)
    available = width - len(" \\")
    lines = [indent + words[0]]
    for word in words[1:]:
        if len(lines[-1]) + 1 + len(word) > available:
            lines[-1] += " \\"
            lines.append(f"{indent}  {word}")
        else:
            lines[-1] += f" {word}"
    return lines


def one_line(command: str) -> str:
    """Returns a command without line breaks and other control characters."""
    return command if command.isprintable() else " ".join(_shell_words(command))


def _shell_words(command: str) -> list[str]:
    """Returns the words of a command, each quoted for a shell."""
    try:
        words = shlex.split(command)
    except ValueError:  # an unclosed quote: not a shell command
        return [printable(command, limit=MAX_CHARS)]
    quoted: list[str] = []
    for word in words:
        if word == "&&":  # between two commands
            quoted.append(word)
        elif word.isprintable():
            quoted.append(shlex.quote(word))
        else:
            safe = word.replace("\\", "\\\\").replace("'", "\\'")
            for char in set(safe):
                if not char.isprintable():
                    code = char.encode("unicode_escape").decode()
                    safe = safe.replace(char, code)
            quoted.append(f"$'{safe}'")  # the shell's form for escape sequences
    return quoted


def page_rows(
    findings: Iterable[Finding], place: RemedyTarget = NOWHERE
) -> list[dict[str, str]]:
    """Returns the groups as rows for the template of the report page."""
    rows = []
    for label, text, remedy in _rows(grouped(findings), place):
        rows.append({"label": label, "text": text, "remedy": one_line(remedy)})
    return rows


def markdown_lines(
    findings: Iterable[Finding], place: RemedyTarget = NOWHERE
) -> list[str]:
    """Returns a Markdown list with one item per group and its remedy as code."""
    lines = []
    for label, text, remedy in _rows(grouped(findings), place):
        words = _MARKDOWN_CHARS.sub(r"\\\1", text.replace(_GAP, ", "))
        lines.append(f"- **{label}** {words}")
        if remedy:
            lines += ["", "  ```", f"  {one_line(remedy)}", "  ```", ""]
    return lines


def _rows(
    groups: Sequence[FindingGroup],
    place: RemedyTarget,
    most: int = MOST,
) -> Iterator[tuple[str, str, str]]:
    """Yields label, text and remedy of each group, then the number of hidden groups."""
    shown, hidden = first_of_each_kind(groups, most)
    for group in shown:
        text = printable(group_text(group), limit=MAX_CHARS)
        yield LABELS[group.kind], text, place.command(group.remedy)
    for kind, count in hidden.items():
        yield LABELS[kind], hidden_words(count), ""


def first_of_each_kind(
    groups: Sequence[FindingGroup], most: int = MOST
) -> tuple[list[FindingGroup], Mapping[Kind, int]]:
    """Returns the first ``most`` groups of each kind, and the number of its others.

    If only one group would be hidden, it is shown instead, because the count of hidden
    groups would also take one line.
    """
    of_kind = Counter(group.kind for group in groups)
    numbers: Counter[Kind] = Counter()
    hidden: Counter[Kind] = Counter()
    shown: list[FindingGroup] = []
    for group in groups:
        if numbers[group.kind] == most and of_kind[group.kind] > most + 1:
            hidden[group.kind] += 1
            continue
        numbers[group.kind] += 1
        shown.append(group)
    return shown, hidden


def hidden_words(count: int) -> str:
    return f"and {count:,} more like these"


def group_text(group: FindingGroup, subject: str = "") -> str:
    """Returns subject, numbers, cause and one example, separated by two spaces.

    ``subject`` replaces the names of the subjects.
    """
    parts = [subject or subject_text(group)]
    if group.of:
        parts.append(f"{group.count:,} of {group.of:,}")
    elif group.count:
        parts.append(f"{group.count:,}")
    parts.append(cause_text(group))
    if group.example:
        example = shortened(" ".join(group.example.split()), _MAX_EXAMPLE)
        parts[-1] += f', for example: "{example}"'
    return _GAP.join(part for part in parts if part)


def cause_text(group: FindingGroup) -> str:
    """Returns the cause.

    For missing weights, the names of the models precede the cause, since the subject of
    such a finding is the metric.
    """
    cause = " ".join(group.cause.split())
    if group.kind == "missing_weights":
        cause = f"{listed(group.names('name'), SHOWN)}: {cause}"
    return cause


def causes(findings: Iterable[Finding]) -> str:
    """Returns the distinct causes in one string, without subjects."""
    return "; ".join(cause_text(group) for group in grouped(findings))


def subject_text(group: FindingGroup) -> str:
    """Returns the most specific names of the subjects, and their tasks."""
    tasks = group.names("task")
    names = group.places
    for field in ("sample", "metric", "role", "name"):
        names = names or group.names(field)
    if not names:
        return listed(tasks, SHOWN)
    location = f" in {len(tasks):,} tasks"
    if len(tasks) < 2:
        location = "".join(f" in {task}" for task in tasks)
    return f"{listed(names, SHOWN)}{location}"
