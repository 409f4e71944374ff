"""The engine that reads pictures takes seconds to load."""

import json
from pathlib import Path

import pytest
from PIL import Image

from mmeval.metrics.document import ocr
from mmeval.metrics.document.boxes import joined_lines
from tests.support import tiny_media
from tests.support.cli import mmeval
from tests.support.judges import judge, judge_server
from tests.support.tiny_media import FRUIT, drawn_table

pytestmark = pytest.mark.skipif(not tiny_media.HAS_OCR, reason="needs rapidocr")


def test_the_words_of_a_table_are_found_in_their_places_and_a_blank_picture_has_none() -> (
    None
):
    assert joined_lines(ocr.read_words(drawn_table(FRUIT))) == [
        "  ".join(cells) for cells in FRUIT
    ]
    assert ocr.read_words(Image.new("RGB", (64, 48), "white")) == []


@pytest.mark.parametrize(
    ("profile", "wanted"), [("standard", [0.75, 0.75]), ("official", [0.64])]
)
def test_pictures_and_scans_are_read_and_judged(
    profile: str, wanted: list[float], tmp_path: Path
) -> None:
    drawn = drawn_table(FRUIT)
    files = {"a.png": tiny_media.as_png(drawn), "a.pdf": tiny_media.scan(drawn)}
    rows = [{"answer": [{"type": "document", "path": name}]} for name in files][
        : len(wanted)
    ]
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "cases.jsonl").write_text(
        "".join(f"{json.dumps(row)}\n" for row in rows)
    )
    reply = json.dumps({"score": 4, "overall_score_100": 64})  # official reads no fence
    with judge_server(tmp_path / "judge", {tiny_media.FRUIT_TABLE: reply}) as server:
        cases = ("--cases", tmp_path / "cases.jsonl", "--profile", profile)
        done = mmeval("try", "metric", "document_quality", *cases, *judge(server))
    assert done.code == 0, done.err
    assert [json.loads(line)["value"] for line in done.out.splitlines()] == wanted
