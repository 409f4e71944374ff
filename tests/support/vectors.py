"""Pictures of one colour, and a file that gives each its colour as the embedding, each
text one of its own."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmeval.media import Interleaved, Media, Part, media_part, text_part
from tests.support.pictures import DAMAGED, even, medium
from tests.support.unread_media import UNREAD

COLOURS = {
    "red": (250, 10, 10),
    "reddish": (200, 60, 60),
    "green": (10, 250, 10),
    "greenish": (60, 200, 60),
    "blue": (10, 10, 250),
    "bluish": (70, 60, 190),
    "grey": (120, 120, 120),
}
MISSING = Part("image", raw="<<image1>>", label="image1")
"""A file that is named and not there."""


def colour(name: str) -> Media:
    return medium(even(8, 8, COLOURS[name]))


def picture(name: str) -> Part:
    """The picture of a colour; ``broken`` is none, ``unread`` is one in a format that
    mmeval does not read, and ``missing`` a file that is not there."""
    if name == "missing":
        return MISSING
    if name == "unread":
        return media_part(UNREAD["heic"].media, "image")
    return media_part(DAMAGED if name == "broken" else colour(name), "image")


def answer(*parts: str) -> Interleaved:
    """Names of pictures, and texts that begin with a colon."""
    return Interleaved(
        tuple(
            text_part(part[1:]) if part.startswith(":") else picture(part)
            for part in parts
        )
    )


def candidates(*names: str) -> tuple[Interleaved, ...]:
    return tuple(Interleaved((picture(name),)) for name in names)


def vectors_file(
    folder: Path, texts: Mapping[str, Sequence[float]] | None = None
) -> str:
    rows: list[object] = [
        {"sha256": colour(name).sha256, "vector": list(COLOURS[name])}
        for name in COLOURS
    ]
    rows += [
        {"text": text, "vector": list(vector)} for text, vector in (texts or {}).items()
    ]
    file = folder / "vectors.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)
