"""What is found about task files: something wrong or doubtful, with file and line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mmeval.system.yaml_document import KeyPath
from mmeval.task.file import TaskFile

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong (``error``) or doubtful (``warning``). ``line`` counts from 1; 0: no line is to blame."""

    file: Path
    line: int
    severity: Severity
    message: str
    check: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else str(self.file)
        return f"{where}: {self.severity}: {self.message} [{self.check}]"


def finding_at(file: TaskFile, path: KeyPath, name: str, message: str, severity: Severity = "error") -> Finding:
    """A finding about a task, with the line of the key that is to blame."""
    place = file.document.place(path or ("task",))
    return Finding(place.file, place.line, severity, f"task {file.name!r}: {message}", name)
