from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mmeval.errors import MissingDataError, UsageError
from mmeval.tasks.unim.data.concatenated_json import Record, read_records


def read(folder: Path, text: str | bytes) -> list[Record]:
    file = folder / "rows.jsonl"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_records(file))


def rows_of(folder: Path, text: str | bytes) -> list[dict[str, object]]:
    return [record.row for record in read(folder, text)]


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


def test_a_list_at_the_top_is_read_as_its_objects(tmp_path: Path) -> None:
    assert rows_of(tmp_path, '[\n  {"a": 1},\n  {"a": 2}\n]\n') == [{"a": 1}, {"a": 2}]


BAD = [
    pytest.param('{"a": 1}\n{"a": }\n{"a": 3}', "Expecting value in its line 1, at character 7", id="no value"),
    pytest.param('{"a": 1}{"a": }{"a": 3}', "Expecting value", id="all on one line"),
    pytest.param('{\n "a": 1\n}\n{\n "b": {"c": [\n}\n{\n "a": 3\n}', "in its line 3", id="indented, cut off"),
    pytest.param('[\n  {"a": 1},\n  {"b": {"c": [{,\n  {"a": 3}\n]', "Expecting property name", id="in a list"),
    pytest.param('{"a": 1}\n{"b": "cut\n{"a": 3}', "Invalid control character", id="text that is not closed"),
    pytest.param('{"a": 1}\n{"b": "if (x) {" "}"}\n{"a": 3}', "Expecting ',' delimiter", id="braces in texts"),
    pytest.param('{"a": 1}\n{"b": "two\nlines {"}\n{"a": 3}', "Invalid control character", id="line end in a text"),
    pytest.param('{"a": 1}\n{"b": NaN}\n{"a": 3}', "NaN is not a JSON value", id="not a number"),
    pytest.param('{"a": 1}\nnonsense\n{"a": 3}', "Expecting value", id="nonsense"),
    pytest.param('{"a": 1}, "words", {"a": 3}', "it is no JSON object", id="another value"),
    pytest.param('{"a": 1}\n{"b": ' + "[" * 100_000 + '\n{"a": 3}', "nested too deeply", id="deep"),
    pytest.param('{"a": 1}\n{"b": ' + "9" * 5000 + '}\n{"a": 3}', "limit", id="huge number"),
    pytest.param(b'{"a": 1}\n{"b": "\xff"}\n{"a": 3}', "no Unicode", id="not UTF-8"),
    pytest.param('{"a": 1}\n{"b": "\\ud800"}\n{"a": 3}', "no Unicode", id="half a character"),
]
"""Files with a bad object on or from line 2 (or on the only line) between two good ones."""


@pytest.mark.parametrize(("text", "reason"), BAD)
def test_after_what_cannot_be_read_the_reading_goes_on(tmp_path: Path, text: str | bytes, reason: str) -> None:
    first, bad, last = read(tmp_path, text)

    assert (first.row, last.row) == ({"a": 1}, {"a": 3})
    assert not first.fault
    assert not last.fault
    assert "the record cannot be read: " in bad.fault
    assert reason in bad.fault


def test_a_bad_record_knows_its_line_and_so_do_those_behind_it(tmp_path: Path) -> None:
    found = read(tmp_path, '{\n "a": 1\n}\n{\n "b": oops\n}\n\n{"a": 3}')

    assert [(record.line, bool(record.fault)) for record in found] == [(1, False), (4, True), (8, False)]


def test_a_bad_record_keeps_what_it_can_be_known_by(tmp_path: Path) -> None:
    text = '{"domain": "social_science", "subdomain": "art", "id": "0501", "difficulty_level": 2, "input": {"modal": {'

    (bad,) = read(tmp_path, text)

    assert bad.row == {"domain": "social_science", "subdomain": "art", "id": "0501", "difficulty_level": 2}


@pytest.mark.parametrize("written", ['"\\x"', '"\\ud800"', "1.5", "[1]", "null", "99999999999999999999"])
def test_what_is_no_id_is_none_that_a_bad_record_is_known_by(tmp_path: Path, written: str) -> None:
    (bad,) = read(tmp_path, f'{{"id": {written}, oops}}')

    assert bad.row == {}


def test_a_record_that_was_cut_off_does_not_take_the_next_one_of_its_line_along(tmp_path: Path) -> None:
    found = read(tmp_path, '{"id": "1", "input": {"content": 7 {"id": "2", "input": {}} {"id": "3"}\n{"id": "4"}')

    assert [record.row["id"] for record in found if not record.fault] == ["2", "3", "4"]
    assert [record.row for record in found if record.fault] == [{"id": "1"}]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('{"a":[\n' * 100_000, id="lists in lists"),
        pytest.param('{"a":[\n' * 900 + "1," * 500_000, id="a long list in many"),
        pytest.param("{" * 1_000_000, id="braces"),
        pytest.param('{"' * 500_000, id="quotes"),
        pytest.param('{{"id":1}' * 100_000, id="records behind braces"),
        pytest.param('{"id":' * 200_000 + "1" + "}" * 200_000, id="records in records"),
        pytest.param("{" + " \n" * 1_000_000, id="blanks"),
        pytest.param(("{" + " " * 1_000) * 1_000, id="braces far apart"),
    ],
)
def test_hostile_files_are_read_to_their_end(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text)


@given(st.lists(st.sampled_from(['{"id": 1}', '{"c": "}{[\\""}', "{", "}", '"', "[", "\n", "\n  {", ",", "x", "\\"])))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_stops_the_reading_and_a_whole_line_is_never_lost(tmp_path: Path, pieces: list[str]) -> None:
    found = read(tmp_path, "".join(pieces) + '\n{"last": true}\n')

    assert found[-1].row == {"last": True}
    assert not found[-1].fault


def test_a_file_that_has_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"gone\.jsonl"):
        list(read_records(tmp_path / "gone.jsonl"))


def test_a_file_that_git_lfs_keeps_elsewhere_says_how_to_fetch_it(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"rows\.jsonl only says where .* `git lfs pull`"):
        read(tmp_path, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n")


def test_a_file_above_the_size_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmeval.tasks.unim.data.concatenated_json.MAX_FILE_BYTES", 5)

    with pytest.raises(UsageError, match="split the file"):
        rows_of(tmp_path, '{"a": 1}')
