import math
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.system.json_lines import from_line, open_append, read_rows, to_line, write_atomic


@pytest.mark.parametrize(
    ("value", "back"),
    [
        *(({"a": [1, 2.5, None, True]}, None), ("\ud83d alone", None), (2**64 - 1, None), ("é\u2028\x00", None)),
        *(({"k": {"\udc00": -(2**63)}}, None), ({"n": 10**30 + 1}, {"n": 1e30})),
        (["x", math.nan, {"v": (math.inf,)}], ["x", None, {"v": [None]}]),
        (["\ud800", math.nan, {"v": (math.inf,)}], ["\ud800", None, {"v": [None]}]),
    ],
    ids=["plain", "surrogate", "64 bits", "separators", "nested", "more than 64 bits", "nan", "nan and surrogate"],
)
def test_a_value_survives_its_line(value: Any, back: Any) -> None:
    line = to_line(value)
    assert (b"\n" in line, from_line(line)) == (False, value if back is None else back)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *((b"", b""), (b"1\n2\n", b"1\n2\n"), (b"1\n2", b"1\n"), (b"torn", b""), (b"1\n" + b"x" * 70_000, b"1\n")),
        (b"y" * 70_000 + b"\n" + b"x" * 70_000, b"y" * 70_000 + b"\n"),
    ],
    ids=["new", "whole", "torn", "only torn", "long tail", "long lines"],
)
def test_a_torn_tail_is_cut_off_before_more_is_appended(tmp_path: Path, before: bytes, after: bytes) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(before)
    with open_append(file) as out:
        out.write(b"3\n")
    assert file.read_bytes() == after + b"3\n"


def test_rows_have_offsets_and_damaged_ones_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"a":1}\n{broken\n{"a":2}\n{"a":3')
    assert list(read_rows(file)) == [(0, {"a": 1}), (16, {"a": 2})]
    assert [f"{file}: " in message and "byte 8 " in message for message in caplog.messages] == [True]
    assert list(read_rows(tmp_path / "none.jsonl")) == []


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for write in (lambda path: write_atomic(path, b""), open_append):
        with pytest.raises(StorageError):
            write(tmp_path / "file" / "inside.json")
