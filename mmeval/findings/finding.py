"""The record of one fact: what is wrong, with what, and what to do."""

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
"""All kinds, in the order in which they are shown: first what stops everything."""

Severity = Literal["error", "warning", "note"]
"""``error``: the exit code is not 0 because of it. ``warning``: something is lost or
left out. ``note``: a hint."""
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Subject:
    """What a finding is about; fields that do not apply are empty.

    ``name`` is a plugin, a package, a model, a folder or a host. ``line`` counts from
    1 in ``file``; 0 is the whole file.
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
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in row.items() if name in known})


ANYTHING = Subject()


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact.

    ``count`` of ``of`` things have it; 0 where nothing is counted. ``cause`` is a text
    for people, which no code reads. ``example`` is a text that it is about, such as a
    reply that cannot be read; findings of one cause are together whatever their
    examples. ``remedy`` is a command or a flag that removes the finding; empty where
    there is none. In it ``{TASK}`` stands for the tasks of the command, and ``{RUN}``
    for the folder of the run: so equal faults have equal remedies.
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
        known = {field.name for field in fields(cls)}
        values = {name: value for name, value in row.items() if name in known}
        values["subject"] = Subject.from_json(row.get("subject", {}))
        return cls(**values)


def _filled(record: Subject | Finding) -> dict[str, Any]:
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: value for name, value in values.items() if value}
