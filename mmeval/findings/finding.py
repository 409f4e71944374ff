"""The record of one finding: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

Kind = Literal[
    "machine",
    "missing_key",
    "missing_data",
    "missing_extra",
    "missing_role",
    "missing_weights",
    "bad_sample",
    "failed",
    "refused",
    "unscored",
    "unsupported",
    "cut_off",
    "unread_reply",
    "partial",
    "suspended",
    "subset",
    "not_comparable",
    "other_definition",
    "budget",
    "plugin",
    "task_file",
    "setting",
    "package",
    "damaged",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds in display order. Kinds that stop a command come first."""

Severity = Literal["error", "warning", "note"]
"""How serious a finding is.

With an ``error``, the exit code is not 0. With a ``warning``, something is lost. A
``note`` is a hint.
"""
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a finding; fields that do not apply are empty.

    ``name`` is the name of a plugin, package, model, folder or host. ``line`` is a line
    number, from 1. If it is 0, the finding is about the complete ``file``.
    """

    task: str = ""
    metric: str = ""
    role: str = ""
    sample: str = ""
    name: str = ""
    file: str = ""
    line: int = 0

    def to_json(self) -> dict[str, Any]:
        return _filled(self)

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Subject:
        names = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in row.items() if name in names})


ANYTHING = Subject()


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    - ``count``, ``of``: number of affected items, and number of all items; both are 0
      if the finding is not about a number of items.
    - ``cause``: a sentence for people; no code parses it.
    - ``remedy``: a command or flag that fixes the problem; empty if there is none.
      ``{TASK}`` stands for the tasks of the command, ``{RUN}`` for the run folder. With
      these placeholders, equal faults have equal remedies and can be grouped.
    - ``example``: an example, such as a reply that cannot be read. It is ignored when
      findings are grouped.
    """

    kind: Kind
    subject: Subject = ANYTHING
    count: int = 0
    of: int = 0
    cause: str = ""
    remedy: str = ""
    severity: Severity = "warning"
    example: str = ""

    def to_json(self) -> dict[str, Any]:
        row = _filled(self)
        row["subject"] = self.subject.to_json()
        return row

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Finding:
        names = {field.name for field in fields(cls)}
        values = {name: value for name, value in row.items() if name in names}
        values["subject"] = Subject.from_json(row.get("subject", {}))
        return cls(**values)


def _filled(record: Subject | Finding) -> dict[str, Any]:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: value for name, value in values.items() if value}
