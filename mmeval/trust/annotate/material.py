"""What a trial shows to raters, on disk until it is shown."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, TypeAlias

from mmeval.system.json_lines import from_line, to_line

PartRows: TypeAlias = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Material:
    """The recorded parts of a trial's input, references and answer. A pair has two
    answers, in the order of the runs."""

    messages: Sequence[PartRows]
    references: Sequence[PartRows]
    answers: Sequence[PartRows]


class MaterialFile:
    """Keeps material in a temporary file, so that memory does not grow with it."""

    def __init__(self) -> None:
        # closed by the context manager of this class
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._lock = Lock()

    def __enter__(self) -> MaterialFile:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def add(self, material: Material) -> int:
        """Appends material. Returns its position."""
        fields = [material.messages, material.references, material.answers]
        with self._lock:
            position = self._file.seek(0, 2)
            self._file.write(to_line(fields) + b"\n")
        return position

    def at(self, position: int) -> Material:
        """Returns the material at a position that ``add`` returned."""
        with self._lock:
            self._file.seek(position)
            line = self._file.readline()
        messages, references, answers = from_line(line)
        return Material(messages, references, answers)
