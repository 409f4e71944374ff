"""The data files of a report, read back as the page reads them."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Report:
    """A report folder: its index, its trials in full, what the text filter searches,
    and its page."""

    folder: Path

    @property
    def index(self) -> dict[str, Any]:
        return dict(called(self.folder / "data" / "index.js", "index")[0])

    @property
    def trials(self) -> list[dict[str, Any]]:
        return self._chunked("details")

    @property
    def texts(self) -> list[str]:
        return self._chunked("text")

    @property
    def page(self) -> str:
        return (self.folder / "index.html").read_text()

    def _chunked(self, name: str) -> list[Any]:
        chunks = [
            called(file, name)
            for file in sorted((self.folder / "data").glob(f"{name}-*.js"))
        ]
        assert [number for number, _ in chunks] == list(range(len(chunks)))
        return [item for _, items in chunks for item in items]


def called(file: Path, name: str) -> list[Any]:
    """The values that a data file hands to its function."""
    found = re.fullmatch(rb"mmeval\.(\w+)\((.*)\);\n", file.read_bytes(), re.DOTALL)
    assert found is not None and found[1].decode() == name
    return list(json.loads(b"[" + found[2] + b"]"))
