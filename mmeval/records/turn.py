"""A model's turn as its server wrote it, to be given back in the next request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.media.media import Media


@dataclass(frozen=True, slots=True)
class Turn:
    """What a server wants back, byte for byte, when its answer is part of a later
    request: signatures, hidden reasoning, ids of pictures.

    Nothing but the backend that made it reads it. ``wire`` names the interface that its
    ``items`` belong to; a backend ignores those of another one. The items are JSON and
    lie in the media store, as they may hold the answer's pictures once more.
    """

    wire: str
    items: Media

    def to_json(self) -> dict[str, Any]:
        return {"wire": self.wire, "media": self.items.to_json()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Turn:
        return cls(row["wire"], Media.from_json(row["media"], media_root))
