"""The bundled samples of MMMG: at least one for each task, with a right answer wherever
a script can make one.

Speech, noises and instruments cannot be made here, so that the samples of most tasks
with sound have no reference. What is drawn is made of discs, squares, triangles, bars
and capital letters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from scripts.mmmg_bundled.picture_texts import PICTURE_TEXTS
from scripts.mmmg_bundled.pictures import PICTURES
from scripts.mmmg_bundled.row import Row, placeholder
from scripts.mmmg_bundled.sounds import ORDERS, SOUNDS, SPEECH

Files: TypeAlias = dict[str, bytes]
FOLDER = "tasks/mmmg/bundled/seed_instruction"


def mmmg() -> Files:
    """Every file of the samples, by its path from the root of the checkout."""
    books: dict[str, _Book] = {}
    for row in (*PICTURES, *PICTURE_TEXTS, *SOUNDS, *SPEECH, *ORDERS):
        books.setdefault(row.file, _Book(row.file)).add(row)
    return {name: data for book in books.values() for name, data in book.files()}


@dataclass
class _Book:
    """One instruction file: its rows, and its media by kind, numbered in the order in
    which they were added."""

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    media: dict[str, list[bytes]] = field(
        default_factory=lambda: {"image": [], "audio": []}
    )

    def add(self, row: Row) -> None:
        written: dict[str, Any] = {
            "instruction": row.prompt,
            "instruction_para": row.prompt,
        }
        written |= self._numbered(row.given)
        if row.should_be:
            written["ref_image_list"] = self._numbered(row.should_be)["image_list"]
        written |= row.labels
        if row.answer or row.media:
            response = row.answer or "".join(
                placeholder(*at) for at in _counted(row.media)
            )
            written["reference"] = {"response": response, **self._numbered(row.media)}
        self.rows.append(written)

    def _numbered(self, added: Sequence[bytes]) -> dict[str, list[int]]:
        """The numbers of media in the names of their files, by list."""
        found: dict[str, list[int]] = {}
        for data in added:
            own = self.media[_kind(data)]
            found.setdefault(f"{_kind(data)}_list", []).append(len(own))
            own.append(data)
        return found

    def files(self) -> Iterator[tuple[str, bytes]]:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        yield f"{FOLDER}/{self.name}.jsonl", lines.encode()
        for kind, suffix in (("image", "png"), ("audio", "wav")):
            for number, data in enumerate(self.media[kind]):
                yield f"{FOLDER}/{kind}/{self.name}_{number}.{suffix}", data


def _kind(data: bytes) -> str:
    return "audio" if data.startswith(b"RIFF") else "image"


def _counted(media: Sequence[bytes]) -> Iterator[tuple[str, int]]:
    """Each medium's kind and its number among those of that kind."""
    for at, data in enumerate(media):
        yield _kind(data), sum(_kind(other) == _kind(data) for other in media[:at])
