import hashlib
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.row_files import read_jsonl, row_files, scan_files
from mmeval.errors import MissingDataError, UsageError
from tests.support.task_folder import write_files


@pytest.mark.parametrize(
    ("present", "source", "found"),
    [
        (["test.jsonl", "train.jsonl"], {}, ["test.jsonl"]),
        (["test-1.jsonl", "test-0.jsonl"], {}, ["test-0.jsonl", "test-1.jsonl"]),
        (["test.jsonl", "test.parquet"], {}, ["test.jsonl"]),
        (["a.jsonl", "b.jsonl"], {"options": {"data_file": ["b.jsonl", "a.jsonl"]}}, ["b.jsonl", "a.jsonl"]),
        (["hard/test.jsonl", "test.jsonl"], {"name": "hard"}, ["hard/test.jsonl"]),
    ],
)
def test_files_of_a_split_are_found(tmp_path: Path, present: list[str], source: Any, found: list[str]) -> None:
    write_files(tmp_path, dict.fromkeys(present, "{}\n"))
    assert row_files(DataSource("t", tmp_path, **source)) == tuple(tmp_path / name for name in found)


@pytest.mark.parametrize(
    ("source", "error", "word"),
    [
        ({"split": "tset"}, MissingDataError, '"test"'),
        ({"split": "*"}, MissingDataError, "test_split"),
        ({"name": "absent"}, MissingDataError, "absent"),
        ({"name": "../up"}, UsageError, "'../up'"),
        ({"options": {"data_file": "absent.jsonl"}}, MissingDataError, "absent.jsonl"),
        ({"options": {"data_file": "notes.txt"}}, UsageError, ".jsonl or .parquet"),
    ],
)
def test_a_split_needs_its_files(tmp_path: Path, source: dict[str, Any], error: type[Exception], word: str) -> None:
    write_files(tmp_path, {"test.jsonl": "{}\n", "notes.txt": ""})
    with pytest.raises(error, match=word):
        row_files(DataSource("t", tmp_path, **source))


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (["test-00000-of-00003.parquet", "test-00002-of-00003.parquet"], "test-00001-of-00003 missing"),
        (["test-00-of-99.jsonl"], "test-10-of-99 and 88 more"),
    ],
)
def test_a_shard_that_others_announce_must_be_there(tmp_path: Path, present: list[str], missing: str) -> None:
    write_files(tmp_path, dict.fromkeys(present, "{}\n"))
    with pytest.raises(MissingDataError, match=missing):
        row_files(DataSource("t", tmp_path))


def test_rows_are_read_with_their_line_and_blank_lines_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    file.write_bytes('\ufeff{"a": "\u2028é"}\r\n\n  \n{"a": 2}'.encode())
    assert [(row.number, row.values) for row in read_jsonl(file)] == [(1, {"a": "\u2028é"}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 1', "at column 8"),
        (b'{"a": NaN}', "NaN"),
        (b"[" * 200_000, "nested"),
        (b'"' + b"x" * 200_999 + b'"', "longer"),
    ],
)
def test_a_line_that_cannot_be_read_has_its_row(tmp_path: Path, monkeypatch: Any, line: bytes, reason: str) -> None:
    monkeypatch.setattr("mmeval.dataset.loaders.row_files.MAX_ROW_BYTES", 200_001)
    file = tmp_path / "test.jsonl"
    file.write_bytes(b"{}\n" + line + b"\n")
    with pytest.raises(UsageError, match=rf"(?s)test.jsonl.*row 2 is .*{reason}"):
        list(read_jsonl(file))


def test_the_fingerprint_is_the_sha256_of_the_files(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_bytes(b"{}\n\n{}")
    two.write_bytes(b"{}\n")
    assert scan_files([one, two]) == (hashlib.sha256(b"{}\n\n{}{}\n").hexdigest(), (2, 1))
