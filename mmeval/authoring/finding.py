"""Findings about task files: errors and warnings, with file and line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mmeval.system.yaml_document import KeyPath
from mmeval.task.file import TaskFile

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class TaskFinding:
    """An error or a warning. ``line`` counts from 1; 0: it belongs to no line."""

    file: Path
    line: int
    severity: Severity
    message: str
    check: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.severity}: {self.message} [{self.check}]"


def finding_at(
    file: TaskFile, path: KeyPath, name: str, message: str, severity: Severity = "error"
) -> TaskFinding:
    """Make a finding about a task, at the line of a key."""
    place = file.document.place(path or ("task",))
    return TaskFinding(
        place.file, place.line, severity, f"task {file.name!r}: {message}", name
    )
