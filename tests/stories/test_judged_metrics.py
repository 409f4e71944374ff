"""Judged metrics as users meet them: many answers, a dry run and a whole run, with a
real server and real files."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import tiny_media
from tests.support.cli import QUIET, Ended, mmeval, results
from tests.support.judges import judge, judge_server
from tests.support.mock_openai_server import MockServer


def cases(folder: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    file = folder / "cases.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def values(done: Ended) -> list[Any]:
    assert done.out, done.err
    return [json.loads(line)["value"] for line in done.out.splitlines()]


FORECASTS = {
    "mmmg_object_count": ("judge", "4"),
    "mmmg_relative_spatial": ("judge", "8"),
    "mmmg_double_text_rendering": ("judge", "12"),
    "mmmg_decomposition": ("judge", "about 12"),
    "mmmg_self_count": ("judge", "about 4"),
    "mmmg_self_color": ("judge", "about 12"),
    "mmmg_self_size": ("judge", "about 12"),
    "mmmg_self_relative_spatial": ("gemini", "about 16"),
    "mmmg_self_absolute_spatial": ("gemini", "about 16"),
    "mmmg_self_ocr": ("judge", "about 4"),
    "mmmg_interleaved_math": ("gemini", "about 8"),
}


def test_what_judges_will_be_asked_is_counted_beforehand(tmp_path: Path) -> None:
    address = "base_url=http://localhost:1/v1"
    model = (
        "--model",
        "openai",
        "--model_args",
        f"model=m,{address},outputs=[text,image]",
    )
    roles = [
        word
        for role in ("judge", "gemini")
        for word in ("--role", f"{role}=openai,model=j,{address}")
    ]
    done = mmeval(
        "--tasks",
        ",".join(FORECASTS),
        "--data",
        "bundled",
        *model,
        *roles,
        "-o",
        tmp_path,
        "--dry_run",
        "--table",
        "full",
    )
    rows = [
        [cell.strip() for cell in line.split("|")]
        for line in done.out.splitlines()
        if line.startswith("|")
    ]
    found = [(row[3], row[4]) for row in rows if row[3] in ("judge", "gemini")]
    assert found[: len(FORECASTS)] == [*FORECASTS.values()], done.out + done.err


def read(
    folder: Path,
    files: Mapping[str, bytes],
    server: MockServer,
    *more: str,
    **switches: str,
) -> Ended:
    """Each file, which is the only document of an answer."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    rows = (
        {"answer": [{"type": "document", "path": name}], "params": switches}
        for name in files
    )
    return mmeval(
        "try",
        "metric",
        "document_quality",
        "--cases",
        cases(folder, rows),
        *judge(server),
        *more,
    )


def test_each_kind_of_file_is_read_and_its_words_are_judged(tmp_path: Path) -> None:
    files = {
        "a.csv": "\n".join(map(",".join, tiny_media.FRUIT)).encode(),
        "a.docx": tiny_media.word("Fruit of the week"),
        "a.pdf": tiny_media.pdf("A report"),
        "a.xlsx": tiny_media.workbook(
            {"Food": tiny_media.row(1, tiny_media.words_in("A1", "Calories"))}
        ),
        "a.txt": b"Name   Share\nPlum   3\n",
    }
    words = (
        "| Apple | 52.1 kcal | 0.25 |",
        "Fruit of the week",
        "A report",
        "Calories",
        "| Plum | 3 |",
    )
    with judge_server(
        tmp_path / "judge", {word: {"score": 5 - at} for at, word in enumerate(words)}
    ) as server:
        done = read(tmp_path, files, server, ocr="none")
    assert (done.code, values(done)) == (0, [1.0, 0.75, 0.5, 0.25, 0.0])
    assert "inconsistent decimal places" in done.out.splitlines()[0]


@pytest.mark.parametrize("verb", ["run", "score"])
def test_replies_that_count_as_wrong_unread_are_counted_by_task(
    tmp_path: Path, verb: str
) -> None:
    tasks = (
        "--tasks",
        "mmmg_object_count,mmmg_object_exclusion",
        "--data",
        "bundled",
        "--model",
        "reference",
        *QUIET,
    )
    with judge_server(tmp_path, {"": "I am a teapot"}) as server:
        done = mmeval(
            *tasks,
            "--profile",
            "official",
            "--output_path",
            tmp_path / "runs",
            *judge(server),
        )
        if verb == "score":
            done = mmeval("score", tmp_path / "runs" / "reference" / "default", *QUIET)
    assert "counted as wrong" in done.err
    rows = results(tmp_path / "runs")["mmeval"]["findings"]
    unread = [row["subject"]["task"] for row in rows if row["kind"] == "unread_reply"]
    assert unread == ["mmmg_object_count", "mmmg_object_exclusion"]
