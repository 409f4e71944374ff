from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.contract import DataSource
from mmeval.dataset.loaders.row_files import read_jsonl, row_files, scan_files
from mmeval.errors import MissingDataError, UsageError


def files_in(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n")


@pytest.mark.parametrize(
    ("present", "options", "found"),
    [
        (["test.jsonl", "train.jsonl"], {}, ["test.jsonl"]),
        (["test-1.jsonl", "test-0.jsonl"], {}, ["test-0.jsonl", "test-1.jsonl"]),
        (["data/test-00000-of-00001.parquet"], {}, ["data/test-00000-of-00001.parquet"]),
        (
            ["test-00000-of-00002-ab.parquet", "test-00001-of-00002-cd.parquet"],
            {},
            ["test-00000-of-00002-ab.parquet", "test-00001-of-00002-cd.parquet"],
        ),
        (["test.jsonl", "test.parquet"], {}, ["test.jsonl"]),
        (["a.jsonl", "b.jsonl"], {"data_file": ["b.jsonl", "a.jsonl"]}, ["b.jsonl", "a.jsonl"]),
    ],
    ids=["by split", "shards in order", "hub layout", "all shards", "jsonl first", "named"],
)
def test_the_files_of_a_split_are_found(
    tmp_path: Path, present: list[str], options: dict[str, Any], found: list[str]
) -> None:
    files_in(tmp_path, *present)

    assert row_files(DataSource("t", tmp_path, options=options)) == tuple(tmp_path / name for name in found)


def test_a_dataset_name_is_a_sub_folder(tmp_path: Path) -> None:
    files_in(tmp_path, "hard/test.jsonl", "test.jsonl")

    assert row_files(DataSource("t", tmp_path, name="hard")) == (tmp_path / "hard/test.jsonl",)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ({"split": "tset"}, MissingDataError, 'did you mean "test"'),
        ({"split": "*"}, MissingDataError, r"there is test\).*Set test_split, or"),
        ({"name": "absent"}, MissingDataError, "there is no such data folder"),
        ({"name": "../up"}, UsageError, "leads out of"),
        ({"options": {"data_file": "absent.jsonl"}}, MissingDataError, "no such data file"),
        ({"options": {"data_file": "../up.jsonl"}}, UsageError, "leads out of"),
        ({"options": {"data_file": "notes.txt"}}, UsageError, "end in .jsonl or .parquet"),
    ],
    ids=["typo", "pattern as split", "no folder", "folder outside", "no file", "file outside", "other format"],
)
def test_a_split_without_files_is_one_message_with_the_way_out(
    tmp_path: Path, source: dict[str, Any], error: type[Exception], message: str
) -> None:
    files_in(tmp_path, "test.jsonl", "notes.txt")

    with pytest.raises(error, match=message):
        row_files(DataSource("t", tmp_path, **source))


@pytest.mark.parametrize(
    ("present", "missing"),
    [
        (["test-00000-of-00003.parquet", "test-00002-of-00003.parquet"], "test-00001-of-00003 missing"),
        (["test-00001-of-00002-abc.parquet"], "test-00000-of-00002 missing"),
        (["data/test-2-of-4.jsonl"], "test-0-of-4, test-1-of-4, test-3-of-4 missing"),
        (["test-00-of-99.jsonl"], "test-10-of-99 and 88 more missing"),
    ],
    ids=["in the middle", "with a hash", "all others", "many"],
)
def test_a_shard_that_others_announce_must_be_there(tmp_path: Path, present: list[str], missing: str) -> None:
    files_in(tmp_path, *present)

    with pytest.raises(MissingDataError, match=missing):
        row_files(DataSource("t", tmp_path))


def test_rows_are_read_with_their_line_and_blank_lines_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "test.jsonl"
    file.write_bytes('\ufeff{"a": "\u2028é"}\r\n\n  \n{"a": 2}'.encode())

    assert [(row.number, row.values) for row in read_jsonl(file)] == [(1, {"a": "\u2028é"}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 1', "no JSON: Expecting ',' delimiter at column 8"),
        (b'{"a": NaN}', "NaN is no JSON number"),
        (b"\xff", "no JSON: 'utf-8' codec"),
        (b"[" * 200_000, "nested too deeply"),
    ],
    ids=["torn", "NaN", "no UTF-8", "nesting bomb"],
)
def test_a_line_that_is_no_json_is_named_by_file_and_line(tmp_path: Path, line: bytes, reason: str) -> None:
    file = tmp_path / "test.jsonl"
    file.write_bytes(b"{}\n" + line + b"\n")

    with pytest.raises(UsageError, match=f"test.jsonl:2: row 2 is .*{reason}"):
        list(read_jsonl(file))


def test_a_line_that_is_too_long_is_refused_before_it_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.dataset.loaders.row_files.MAX_ROW_BYTES", 100)
    file = tmp_path / "test.jsonl"
    file.write_bytes(b'"' + b"x" * 500 + b'"')

    with pytest.raises(UsageError, match="row 1 is longer than"):
        list(read_jsonl(file))


def test_the_fingerprint_is_the_sha256_of_the_files(tmp_path: Path) -> None:
    one, two = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    one.write_bytes(b"{}\n\n{}")
    two.write_bytes(b"{}\n")

    scan = scan_files([one, two])

    assert scan == (hashlib.sha256(b"{}\n\n{}{}\n").hexdigest(), (2, 1))
