import hashlib
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.row_files import read_jsonl, row_files, scan_files
from mmeval.errors import MissingDataError, UsageError
from tests.support.task_folder import write_files


@pytest.mark.parametrize(
    ("present", "source", "expected"),
    [
        (["test.jsonl", "train.jsonl"], {}, ["test.jsonl"]),
        (["test-1.jsonl", "test-0.jsonl"], {}, ["test-0.jsonl", "test-1.jsonl"]),
        (["test.jsonl", "test.parquet"], {}, ["test.jsonl"]),
        (
            ["a.jsonl", "b.jsonl"],
            {"options": {"data_file": ["b.jsonl", "a.jsonl"]}},
            ["b.jsonl", "a.jsonl"],
        ),
        (["hard/test.jsonl", "test.jsonl"], {"name": "hard"}, ["hard/test.jsonl"]),
    ],
)
def test_files_of_a_split_are_found(
    tmp_path: Path, present: list[str], source: Any, expected: list[str]
) -> None:
    write_files(tmp_path, dict.fromkeys(present, "{}\n"))
    assert row_files(DataSource("t", tmp_path, **source)) == tuple(
        tmp_path / name for name in expected
    )


def test_a_split_needs_its_files(tmp_path: Path) -> None:
    write_files(tmp_path, {"test.jsonl": "{}\n", "notes.txt": ""})
    with pytest.raises(MissingDataError, match="test_split"):
        row_files(DataSource("t", tmp_path, split="*"))
    with pytest.raises(UsageError, match=r".jsonl, .parquet, .json"):
        row_files(DataSource("t", tmp_path, options={"data_file": "notes.txt"}))


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (
            ["test-00000-of-00003.parquet", "test-00002-of-00003.parquet"],
            "missing: test-00001-of-00003",
        ),
        (["test-00-of-99.jsonl"], "test-10-of-99 and 88 more"),
    ],
)
def test_a_shard_that_others_announce_must_be_there(
    tmp_path: Path, present: list[str], missing: str
) -> None:
    write_files(tmp_path, dict.fromkeys(present, "{}\n"))
    with pytest.raises(MissingDataError, match=missing):
        row_files(DataSource("t", tmp_path))


def test_rows_are_read_with_their_line_and_blank_lines_passed_over(
    tmp_path: Path,
) -> None:
    file = tmp_path / "test.jsonl"
    file.write_bytes('\ufeff{"a": "\u2028é"}\r\n\n  \n{"a": 2}'.encode())
    assert [(row.number, row.values) for row in read_jsonl(file)] == [
        (1, {"a": "\u2028é"}),
        (4, {"a": 2}),
    ]


def test_the_fingerprint_is_the_sha256_of_the_files(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    first.write_bytes(b"{}\n\n{}")
    second.write_bytes(b"{}\n")
    assert scan_files([first, second]) == (
        hashlib.sha256(b"{}\n\n{}{}\n").hexdigest(),
        (2, 1),
    )
