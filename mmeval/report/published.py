"""What a finished run has left for its readers: files, their content, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Published:
    """``document`` is the content of the results file, as JSON values; ``samples`` are the samples files by task, empty
    where none were wanted."""

    table: str
    file: Path
    document: Mapping[str, Any]
    samples: Mapping[str, Path] = field(default_factory=dict)
