import json
import math
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.system.folders import write_atomic
from mmeval.system.json_lines import (
    drop_damaged,
    from_line,
    open_append,
    read_rows,
    sealed,
    sealed_document,
    to_line,
    unsealed,
    unsealed_document,
)


def test_a_value_survives_its_line() -> None:
    same: list[Any] = [
        {"a": [1, 2.5, None, True]},
        "\ud83d alone",
        2**64 - 1,
        "é\u2028\x00",
        {"k": {"\udc00": -(2**63)}},
    ]
    changed: list[tuple[Any, Any]] = [({"n": 10**30 + 1}, {"n": 1e30})]
    changed += [
        ([text, math.nan, {"v": (math.inf,)}], [text, None, {"v": [None]}])
        for text in ("x", "\ud800")
    ]
    for value, expected in (*((text, text) for text in same), *changed):
        line = to_line(value)
        assert (b"\n" in line, from_line(line)) == (False, expected)


def test_a_torn_tail_is_cut_off_before_more_is_appended(tmp_path: Path) -> None:
    file, long = tmp_path / "rows.jsonl", b"y" * 70_000
    cases = {
        b"": b"",
        b"1\n2\n": b"1\n2\n",
        b"1\n2": b"1\n",
        b"torn": b"",
        b"1\n" + long: b"1\n",
    }
    for before, after in {**cases, long + b"\n" + long: long + b"\n"}.items():
        file.write_bytes(before)
        with open_append(file) as out:
            out.write(b"3\n")
        assert file.read_bytes() == after + b"3\n"


def test_rows_have_offsets_damaged_ones_are_named_and_no_folder_is_a_storage_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, damaged = tmp_path / "rows.jsonl", list[int]()
    first, second = sealed(b'{"a":1}'), sealed(b'{"a":2}')
    file.write_bytes(first + b"{broken\n" + second + first[:-1])
    assert list(read_rows(file, damaged)) == [(0, {"a": 1}), (len(first) + 8, {"a": 2})]
    assert (
        damaged,
        [message.startswith(f"{file}:2: ") for message in caplog.messages],
    ) == ([2], [True])
    assert list(read_rows(tmp_path / "none.jsonl")) == []
    (tmp_path / "file").write_text("")
    for write in (lambda path: write_atomic(path, b""), open_append):
        with pytest.raises(StorageError):
            write(tmp_path / "file" / "inside.json")


@pytest.mark.parametrize(
    "value", [{"a": "\ud83d \x00"}, {"n": 10**30}, {"rows": [{}] * 99}], ids=str
)
def test_no_bit_of_a_sealed_line_can_change_unseen(value: dict[str, Any]) -> None:
    line = sealed(to_line(value))
    assert unsealed(line) == from_line(to_line(value))
    for bit in range(8 * len(line)):
        changed = bytearray(line)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ValueError):
            unsealed(bytes(changed))


def test_a_sealed_document_may_be_indented_anew_and_nothing_else() -> None:
    value = {"b": [1, 0.1, "\udcff"], "a": {7: None, "x": math.inf}}
    document = json.loads(sealed_document(value))
    plain = {"b": [1, 0.1, "\udcff"], "a": {"7": None, "x": math.inf}}
    assert unsealed_document(json.loads(json.dumps(document, sort_keys=True))) == plain
    assert json.loads(sealed_document(document)) == document
    for changed in (
        {**document, "c": 1},
        {**document, "b": [1, 0.1]},
        plain,
        {},
        7,
        [document],
        None,
    ):
        with pytest.raises(ValueError):
            unsealed_document(changed)


def test_damaged_lines_are_taken_out_and_a_torn_one_stays_for_the_next_writer(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [sealed(b'{"a":%d}' % number) for number in range(3)]
    file.write_bytes(rows[0] + b"7\n" + rows[1] + b"{}\n" + rows[2][:-4])
    for _ in range(2):
        drop_damaged(file)
        assert file.read_bytes() == rows[0] + rows[1] + rows[2][:-4]
    drop_damaged(tmp_path / "none.jsonl")
