import math
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.system.json_lines import from_line, open_append, read_rows, to_line, write_atomic


def test_a_value_survives_its_line() -> None:
    same: list[Any] = [
        {"a": [1, 2.5, None, True]},
        "\ud83d alone",
        2**64 - 1,
        "é\u2028\x00",
        {"k": {"\udc00": -(2**63)}},
    ]
    other: list[tuple[Any, Any]] = [({"n": 10**30 + 1}, {"n": 1e30})]
    other += [([one, math.nan, {"v": (math.inf,)}], [one, None, {"v": [None]}]) for one in ("x", "\ud800")]
    for value, back in (*((one, one) for one in same), *other):
        line = to_line(value)
        assert (b"\n" in line, from_line(line)) == (False, back)


def test_a_torn_tail_is_cut_off_before_more_is_appended(tmp_path: Path) -> None:
    file, long = tmp_path / "rows.jsonl", b"y" * 70_000
    kept = {b"": b"", b"1\n2\n": b"1\n2\n", b"1\n2": b"1\n", b"torn": b"", b"1\n" + long: b"1\n"}
    for before, after in {**kept, long + b"\n" + long: long + b"\n"}.items():
        file.write_bytes(before)
        with open_append(file) as out:
            out.write(b"3\n")
        assert file.read_bytes() == after + b"3\n"


def test_rows_have_offsets_damaged_ones_are_named_and_no_folder_is_a_storage_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(b'{"a":1}\n{broken\n{"a":2}\n{"a":3')
    assert list(read_rows(file)) == [(0, {"a": 1}), (16, {"a": 2})]
    assert [f"{file}: " in message and "byte 8 " in message for message in caplog.messages] == [True]
    assert list(read_rows(tmp_path / "none.jsonl")) == []
    (tmp_path / "file").write_text("")
    for write in (lambda path: write_atomic(path, b""), open_append):
        with pytest.raises(StorageError):
            write(tmp_path / "file" / "inside.json")
