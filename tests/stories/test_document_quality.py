"""Documents judged from outside: the command, a real server, real files of each kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import documents, tiny_media
from tests.support.cli import mmeval
from tests.support.judges import judge, judge_server
from tests.support.task_folder import write_files, write_rows

OCR = pytest.mark.skipif(not documents.HAS_OCR, reason="needs rapidocr")


def scored(
    folder: Path, files: dict[str, bytes], server: Any, *more: str, **switches: str
) -> tuple[int, list[dict[str, Any]]]:
    """The exit code and the row of each file, which is the only document of an answer."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    rows = [{"id": name, "answer": [{"type": "document", "path": name}], "params": switches} for name in files]
    file = folder / "cases.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = mmeval("metric", "document_quality", "--cases", file, *judge(server), *more)
    assert done.out, done.err
    return done.code, [json.loads(line) for line in done.out.splitlines()]


def item(row: dict[str, Any]) -> dict[str, Any]:
    (found,) = row["evidence"]["items"]
    assert isinstance(found, dict)
    return found


def test_each_kind_of_file_is_read_and_its_words_are_judged(tmp_path: Path) -> None:
    files = {
        "a.csv": "\n".join(map(",".join, documents.FRUIT)).encode(),
        "a.docx": tiny_media.word("Fruit of the week"),
        "a.pdf": tiny_media.pdf("A report"),
        "a.xlsx": documents.workbook({"Food": documents.row(1, documents.words_in("A1", "Calories"))}),
        "a.txt": b"Name   Share\nPlum   3\n",
    }
    says = {
        "| Apple | 52.1 kcal | 0.25 |": {"score": 5},
        "Fruit of the week": {"score": 4},
        "A report": {"score": 3},
        "Calories": {"score": 2},
        "| Plum | 3 |": {"score": 1},
    }
    with judge_server(tmp_path / "judge", says) as server:
        code, rows = scored(tmp_path, files, server, ocr="none")

    assert (code, [row["value"] for row in rows]) == (0, [1.0, 0.75, 0.5, 0.25, 0.0])
    (remark,) = item(rows[0])["remarks"]
    assert "hints: inconsistent decimal places" in remark


def test_what_cannot_be_read_is_known_without_asking(tmp_path: Path) -> None:
    files = {
        "broken.pdf": b"%PDF-1.4 nothing",
        "empty.txt": b"  \n ",
        "old.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100),
        "scan.png": tiny_media.picture(),
        "scan.pdf": documents.scan(documents.drawn_table([["x"]])),
    }
    with judge_server(tmp_path / "judge") as server:
        _, rows = scored(tmp_path, files, server, ocr="none")
        asked = server.stats()["requests"]

    assert (asked, [row["value"] for row in rows]) == (0, [0.0, 0.0, None, None, None])
    assert [row["status"] for row in rows][2:] == ["unscored", "unavailable", "unavailable"]
    assert "application/msword" in rows[2]["reason"]


def test_the_official_profile_reads_pictures_alone(tmp_path: Path) -> None:
    files = {"a.csv": b"a,b\n1,2\n", "broken.png": tiny_media.picture()[:40]}
    with judge_server(tmp_path / "judge") as server:
        _, rows = scored(tmp_path, files, server, "--profile", "official")
        asked = server.stats()["requests"]

    assert (asked, [row["value"] for row in rows]) == (0, [None, None])


@OCR
def test_pictures_and_scans_are_read(tmp_path: Path) -> None:
    picture = documents.drawn_table(documents.FRUIT)
    files = {"a.png": documents.as_png(picture), "a.pdf": documents.scan(picture)}
    with judge_server(tmp_path / "judge", {documents.FRUIT_TABLE: {"score": 4, "overall_score_100": 64}}) as server:
        standard = scored(tmp_path, files, server)
        official = scored(tmp_path, {"a.png": files["a.png"]}, server, "--profile", "official")

    assert (standard[0], [row["value"] for row in standard[1]]) == (0, [0.75, 0.75])
    assert (official[0], [row["value"] for row in official[1]]) == (0, [0.64])


TASK = """
task: tables
loader: interleaved
dataset_path: data
output_modalities: [text, document]
partial_output: true
metric_list:
  - {metric: document_quality, ocr: none}
metadata: {version: 1}
"""


def test_a_run_tells_its_calls_before_and_asks_nothing_again(tmp_path: Path) -> None:
    reference = {"text": "Here: <<document1>>", "media": {"document1": "a.csv"}}
    rows: list[dict[str, Any]] = [
        {"id": "1", "input": "A table", "reference": reference},
        {"id": "2", "input": "?", "reference": "None"},
    ]
    write_files(tmp_path, {"tables.yaml": TASK, "data/a.csv": "Name,Salt (g)\nSoup,1.5\n"})
    write_rows(tmp_path / "data", *rows)
    flags = ("--tasks", "tables", "--include_path", tmp_path, "--model", "reference", "--output_path", tmp_path / "out")
    with judge_server(tmp_path / "judge", {"| Soup | 1.5 |": {"score": 4}}) as server:
        ahead = mmeval(*flags, *judge(server), "--dry_run")
        ends = [mmeval(*flags, *judge(server)) for _ in range(2)]
        asked = server.stats()["requests"]

    assert "labels and titles" in ahead.out
    assert (ahead.code, [end.code for end in ends], asked) == (0, [0, 0], 1)
    assert "0.7500" in ends[1].out
    assert "1 inapplicable" in ends[1].out
