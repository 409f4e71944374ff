"""A UniM data set of one's own making, in the published layout."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.records import Sample
from mmeval.tasks.unim.loader import UnimDataset, load

GOLD = "image/gold.png"
"""The picture of an answer, at the top of the data set."""


def unim_row(**changes: Any) -> dict[str, Any]:
    row = {
        "domain": "natural_science",
        "subdomain": "math",
        "id": "1",
        "difficulty_level": 3,
        "input": {"modal": {}, "content": "Draw a line."},
        "output": {"modal": {"image1": GOLD}, "content": "Here: <image1>"},
        **changes,
    }
    return {key: value for key, value in row.items() if value is not None}


def write_records(
    folder: Path,
    *rows: Mapping[str, Any],
    file: str = "natural_science/1_math/text_image.jsonl",
) -> Path:
    write_medium(folder, GOLD)
    path = folder / "qapairs_placeholder" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
    return path


def write_captions(
    folder: Path,
    *rows: Mapping[str, Any],
    file: str = "natural_science/1_math/text_image.jsonl",
) -> Path:
    path = folder / "qapairs_caption" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


FIRST_BYTES = {
    ".png": b"\x89PNG\r\n\x1a\n",
    ".jpg": b"\xff\xd8\xff",
    ".wav": b"RIFF\0\0\0\0WAVE",
    ".mp4": b"\0\0\0\x18ftypmp42",
    ".pdf": b"%PDF-1.4",
    ".csv": b"a,b\n",
    ".txt": b"words",
    ".doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    ".obj": b"mtllib a.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    ".mtl": b"newmtl a\n",
    ".off": b"OFF\n0 0 0\n",
    ".ply": b"ply\nformat ascii 1.0\n",
}
"""As much of a file of each kind as tells what it is, by suffix."""


def write_medium(folder: Path, path: str, data: bytes | None = None) -> Path:
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(FIRST_BYTES[target.suffix] if data is None else data)
    return target


def unim_dataset(folder: Path, name: str = "", **options: Any) -> UnimDataset:
    return load(DataSource("unim", folder, name, options=options))


def unim_samples(folder: Path, name: str = "", **options: Any) -> list[Sample]:
    return list(rows_of(unim_dataset(folder, name, **options)))
