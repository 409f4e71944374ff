"""A UniM data set of one's own making, in the published layout."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.dataset import DataSource
from mmeval.records import Sample
from mmeval.tasks.unim.loader import UnimDataset, load


def unim_row(**changes: Any) -> dict[str, Any]:
    """A record that asks for a picture and gets one; ``changes`` replace its keys, None removes one."""
    row = {
        "domain": "natural_science",
        "subdomain": "math",
        "id": "1",
        "difficulty_level": 3,
        "input": {"modal": {}, "content": "Draw a line."},
        "output": {"modal": {}, "content": "Here: <image1>"},
        **changes,
    }
    return {key: value for key, value in row.items() if value is not None}


def write_records(
    folder: Path, *rows: Mapping[str, Any], file: str = "natural_science/1_math/text_image.jsonl"
) -> Path:
    """Write a record file; returns its path."""
    path = folder / "qapairs_placeholder" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row, indent=2) for row in rows))
    return path


def write_medium(folder: Path, path: str, data: bytes = b"\x89PNG\r\n\x1a\n") -> Path:
    """Write a media file; returns its path."""
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def unim_dataset(folder: Path) -> UnimDataset:
    return load(DataSource("unim", folder))


def unim_samples(folder: Path) -> list[Sample]:
    return list(unim_dataset(folder))
