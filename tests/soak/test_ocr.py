"""Documents that are pictures, read and judged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import documents
from tests.support.cli import Ended, mmeval
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer


def cases(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    file = folder / "cases.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def values(done: Ended) -> list[Any]:
    assert done.out, done.err
    return [json.loads(line)["value"] for line in done.out.splitlines()]


# --- documents --------------------------------------------------------------------------------------------------------


def read(folder: Path, files: Mapping[str, bytes], server: MockServer, *more: str, **switches: str) -> Ended:
    """Each file, which is the only document of an answer."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    rows = ({"answer": [{"type": "document", "path": name}], "params": switches} for name in files)
    return mmeval("metric", "document_quality", "--cases", cases(folder, rows), *judge(server), *more)


@pytest.mark.skipif(not documents.HAS_OCR, reason="needs rapidocr")
def test_pictures_and_scans_are_read(tmp_path: Path) -> None:
    drawn = documents.drawn_table(documents.FRUIT)
    files = {"a.png": documents.as_png(drawn), "a.pdf": documents.scan(drawn)}
    with judge_server(tmp_path / "judge", {documents.FRUIT_TABLE: {"score": 4, "overall_score_100": 64}}) as server:
        standard = read(tmp_path, files, server)
        official = read(tmp_path, {"a.png": files["a.png"]}, server, "--profile", "official")

    assert [(done.code, values(done)) for done in (standard, official)] == [(0, [0.75, 0.75]), (0, [0.64])]
