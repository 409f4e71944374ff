"""A model's turn in its server's own format, to be sent back in the next request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmeval.media.media import Media


@dataclass(frozen=True, slots=True)
class Turn:
    """Data that a server expects back with a later request, byte for byte.

    Examples are signatures, hidden reasoning and ids of pictures. Only the backend that
    made a turn reads it. ``wire`` names the server interface that the ``items`` come
    from. A backend ignores turns of another interface. The items are stored as JSON in
    the media store, because they may repeat the pictures of the answer.
    """

    wire: str
    items: Media

    def to_json(self) -> dict[str, Any]:
        return {"wire": self.wire, "media": self.items.to_json()}

    @classmethod
    def from_json(cls, row: Mapping[str, Any], media_root: Path) -> Turn:
        return cls(row["wire"], Media.from_json(row["media"], media_root))
