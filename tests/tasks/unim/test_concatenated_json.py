from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.tasks.unim.concatenated_json import read_records


def rows_of(folder: Path, text: str | bytes) -> list[dict[str, object]]:
    file = folder / "rows.jsonl"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return [record.row for record in read_records(file)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a": 1}\n{"a": 2}\n', id="one a line"),
        pytest.param('{\n    "a": 1\n}\n{\n    "a": 2\n}', id="indented"),
        pytest.param('\ufeff{"a": 1}{"a":\r\n 2}\n\n', id="side by side, byte order mark, no final newline"),
    ],
)
def test_objects_one_after_the_other_are_read_however_they_are_written(tmp_path: Path, text: str) -> None:
    assert rows_of(tmp_path, text) == [{"a": 1}, {"a": 2}]


def test_a_brace_inside_a_string_does_not_end_or_open_a_record(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, '{"code": "if (x) {"}\n{"code": "}}"}\n{"last": true}')

    assert rows == [{"code": "if (x) {"}, {"code": "}}"}, {"last": True}]


def test_a_blank_file_has_no_records(tmp_path: Path) -> None:
    assert rows_of(tmp_path, " \n\n") == []


def test_a_record_knows_the_line_where_it_begins(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{\n "a": 1\n}\n\n{"a": 2}\n')

    assert [record.line for record in read_records(file)] == [1, 5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"a": 1}\n{"a": }\n{"a": 3}\n', r"rows\.jsonl:2: the record at character 9 .* line 2", id="bad"),
        pytest.param('{"a": 1}\n{"a": 2', r":2: the record at character 9 ", id="cut off"),
        pytest.param('{"a": 1}\n[{"a": 2}]', ":2: .* a list, not an object", id="list"),
        pytest.param('{"a": NaN}', ":1: .*NaN is not a JSON value", id="not a number"),
        pytest.param('{"a": ' + "[" * 100_000, ":1: .*(nested too deeply|cannot be read)", id="deep"),
        pytest.param('{"a": ' + "9" * 5000 + "}", ":1: .*cannot be read", id="huge number"),
        pytest.param(b'{"a": "\xff"}', "byte 7 is not UTF-8", id="not UTF-8"),
    ],
)
def test_a_record_that_cannot_be_read_is_named_with_its_place(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        rows_of(tmp_path, text)


def test_the_records_before_a_bad_one_are_given_first(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"a": 1}\nnonsense')
    records = read_records(file)

    assert next(records).row == {"a": 1}
    with pytest.raises(UsageError):
        next(records)


def test_a_file_that_has_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"gone\.jsonl"):
        list(read_records(tmp_path / "gone.jsonl"))


def test_a_file_above_the_size_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.tasks.unim.concatenated_json.MAX_FILE_BYTES", 5)

    with pytest.raises(UsageError, match="split the file"):
        rows_of(tmp_path, '{"a": 1}')
