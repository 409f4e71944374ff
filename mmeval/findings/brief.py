"""Renders findings in few lines: findings with the same remedy share a line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mmeval.findings.finding import Finding, Kind
from mmeval.findings.from_error import PREPARE_DATA
from mmeval.findings.group import SHOWN, FindingGroup, grouped
from mmeval.findings.render import (
    MAX_CHARS,
    NOWHERE,
    WIDTH,
    RemedyTarget,
    command_lines,
    first_of_each_kind,
    group_text,
    hidden_words,
    one_line,
)
from mmeval.findings.words import LABELS
from mmeval.installation import ROOT
from mmeval.system.wording import listed, printable, wrapped

_GAP = "  "
_MISSING = "missing"
_NAMED = 2
"""Maximum number of names in a line. More names are counted."""
_NAMED_BY_HAND = 4
"""The same for metrics whose weights the user has to get, one by one."""
_NOUNS = {"metric": "metrics", "role": "roles", "name": "names"}
_CAUSES_SHOWN: Mapping[Kind, int] = {"unsupported": 2, "partial": 1}
"""Maximum number of causes without a remedy that have a line each. If there are more,
all share the line of the most frequent cause."""
_WEIGHTS_BY_HAND = "mmeval ls metrics NAME"
"""The command that states where to get weights that mmeval cannot fetch."""


@dataclass(frozen=True)
class _Row:
    """A line in its columns.

    ``thing`` is what is missing, such as ``weights``. It is empty for findings that are
    not about something missing.
    """

    label: str
    thing: str
    text: str
    remedy: str = ""
    is_note: bool = False
    is_whole: bool = True
    """False if the line lacks a cause."""


def brief_lines(
    findings: Iterable[Finding],
    place: RemedyTarget = NOWHERE,
    width: int = WIDTH,
    *,
    column: int = 0,
    whole: str = "",
) -> list[str]:
    """Returns a line for each remedy: kind, what, how many, remedy.

    Findings without a remedy have a line for each cause, and notes have one that is cut
    at the width. ``column`` is the minimum width of the first column. If something is
    left out, the last line is ``whole``, which states how to see it.
    """
    findings = list(findings)
    rows = _rows(grouped(findings), place)
    column = max(column, label_column(findings))
    thing_column = max((len(row.thing) for row in rows), default=0) + len(_GAP)
    indent = " " * column
    lines: list[str] = []
    is_whole = True
    for row in rows:
        line = f"{row.label:{column}}"
        if row.thing:
            line += f"{row.thing:{thing_column}}"
        line += row.text
        with_remedy = f"{line}{_GAP}{one_line(row.remedy)}".rstrip()
        is_cut = row.is_note and not row.remedy and len(line) > width
        is_whole = is_whole and row.is_whole and not is_cut
        if is_cut:
            lines.append(f"{line[: width - 3].rstrip()}...")
        elif len(with_remedy) <= width:
            lines.append(with_remedy)
        else:
            lines += wrapped(line, width, indent)
            last = f"{lines[-1]}{_GAP}{one_line(row.remedy)}"
            if row.remedy.startswith("--") and len(last) <= width:
                lines[-1] = last  # a flag is typed, a command is pasted
            else:
                lines += command_lines(row.remedy, indent, width)
    if whole and not is_whole:
        lines += wrapped(f"{'more':{column}}{whole}", width, indent)
    return lines


def label_column(findings: Iterable[Finding]) -> int:
    """Returns the width of the first column of ``brief_lines``."""
    labels = {_label(finding.kind) for finding in findings}
    return max(map(len, labels), default=0) + len(_GAP)


def _label(kind: Kind) -> str:
    if kind.startswith(_MISSING):
        return _MISSING
    return LABELS[kind]


def _thing(group: FindingGroup) -> str:
    """Returns what is missing: a kind of thing, or the roles. It is empty for other
    kinds of findings."""
    if group.kind == "missing_role":
        return ", ".join(group.names("role"))
    if not group.kind.startswith(_MISSING):
        return ""
    return LABELS[group.kind].removeprefix(_MISSING).strip()


def _rows(groups: Sequence[FindingGroup], place: RemedyTarget) -> list[_Row]:
    rows: list[_Row] = []
    shown, hidden = first_of_each_kind(_joined(groups))
    for group in shown:
        remedy = place.command(group.remedy)
        if _is_weight_by_hand(group) and len(_causes(group)) > 1:
            remedy = _WEIGHTS_BY_HAND
        row = _Row(
            _label(group.kind),
            printable(_thing(group), limit=MAX_CHARS),
            printable(_text(group), limit=MAX_CHARS),
            remedy,
            is_note=group.severity == "note",
            is_whole=_is_whole(group),
        )
        rows.append(row)
    for kind, count in hidden.items():
        rows.append(_Row(_label(kind), "", hidden_words(count), is_whole=False))
    return rows


def _joined(groups: Iterable[FindingGroup]) -> list[FindingGroup]:
    """Joins groups of the same kind and remedy whose causes need not all be read.

    Notes and unsupported samples are joined only if they have many causes.
    """
    groups = list(groups)
    similar_groups = Counter(_similar(group) for group in groups)
    findings: dict[tuple[object, ...], list[Finding]] = {}
    for group in groups:
        similar = _similar(group)
        most = _CAUSES_SHOWN.get(group.kind, len(groups))
        if _is_one_line(group):
            key: tuple[object, ...] = (group.kind, group.remedy)
        elif similar_groups[similar] > most:
            key = similar
        else:
            key = (group.kind, group.cause, group.remedy)
        findings.setdefault(key, []).extend(group.findings)
    return [FindingGroup(tuple(members)) for members in findings.values()]


def _is_one_line(group: FindingGroup) -> bool:
    """Returns whether all groups with the remedy of this one share a line."""
    has_remedy = bool(group.remedy)
    if group.kind in ("missing_data", "unsupported"):
        return has_remedy
    return _is_plain(group) or _is_weight_by_hand(group)


def _similar(group: FindingGroup) -> tuple[object, ...]:
    """Returns what findings have in common that are joined if there are many."""
    is_of_tasks = bool(group.names("task"))
    return (group.kind, group.severity, group.remedy, is_of_tasks)


def _is_plain(group: FindingGroup) -> bool:
    """Returns whether kind and remedy state what is wrong, without the cause."""
    if group.kind == "missing_data":
        return group.remedy == PREPARE_DATA
    kinds = ("missing_extra", "missing_role", "missing_weights")
    return group.kind in kinds and bool(group.remedy)


def _is_weight_by_hand(group: FindingGroup) -> bool:
    return group.kind == "missing_weights" and not group.remedy


def _text(group: FindingGroup) -> str:
    subject = _subject(group)
    others = len(_causes(group)) - 1
    if _is_plain(group) or (_is_weight_by_hand(group) and others):
        return subject
    text = group_text(_most_frequent_first(group), subject)
    if others:
        text += f"; {hidden_words(others)}"
    return text


def _most_frequent_first(group: FindingGroup) -> FindingGroup:
    """Returns the group with a finding of the most frequent cause in front."""
    counts: Counter[str] = Counter()
    for finding in group.findings:
        counts[finding.cause] += finding.count or 1
    ordered = sorted(group.findings, key=lambda finding: -counts[finding.cause])
    return FindingGroup(tuple(ordered))


def _causes(group: FindingGroup) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.cause for finding in group.findings))


def _is_whole(group: FindingGroup) -> bool:
    """Returns whether the line of a group has all names and causes."""
    for field in ("task", "metric"):
        if len(group.names(field)) > _NAMED:
            return False
    # the lines of weights have no name of a model, and joined lines only one cause
    is_weight = group.kind == "missing_weights" and _is_plain(group)
    return not is_weight and (len(_causes(group)) == 1 or group.kind == "missing_role")


def _subject(group: FindingGroup) -> str:
    """Returns the most specific names of the subjects, and their tasks. Many names are
    counted."""
    tasks = _named_or_numbered(group.names("task"), "tasks")
    # the files of mmeval itself are known by their path inside it
    places = [place.removeprefix(f"{ROOT}/") for place in group.places]
    names = listed(places or group.names("sample"), SHOWN)
    for field, noun in _NOUNS.items():
        # data are named by their task, which is what the user asked for
        is_redundant = group.kind == "missing_data" and field == "name" and tasks
        if not names and not is_redundant:
            most = _NAMED_BY_HAND if _is_weight_by_hand(group) else _NAMED
            names = _named_or_numbered(group.names(field), noun, most)
    # their command takes a metric, so the tasks would only fill a second line
    are_joined = _is_weight_by_hand(group) and len(_causes(group)) > 1
    if names and tasks and not are_joined:
        return f"{names} in {tasks}"
    return names or tasks


def _named_or_numbered(names: Sequence[str], noun: str, most: int = _NAMED) -> str:
    if len(names) <= most:
        return ", ".join(names)
    return f"{len(names):,} {noun}"
