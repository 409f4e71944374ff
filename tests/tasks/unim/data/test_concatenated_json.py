from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mmeval.errors import MissingDataError, UsageError
from mmeval.tasks.unim.data.concatenated_json import Record, read_records


def read(folder: Path, text: str | bytes) -> list[Record]:
    file = folder / "rows.jsonl"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return list(read_records(file))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"a": 1}\n{"a": 2}\n', [(1, {"a": 1}), (2, {"a": 2})]),
        ('{\n "a": 1\n}\n\n{"a": 2}', [(1, {"a": 1}), (5, {"a": 2})]),
        # byte order mark, no final newline
        ('\ufeff{"a": 1}{"a":\r\n 2}\n\n', [(1, {"a": 1}), (1, {"a": 2})]),
        (
            '{"code": "if (x) {"}\n{"code": "}}"}',
            [(1, {"code": "if (x) {"}), (2, {"code": "}}"})],
        ),
        ('[\n  {"a": 1},\n  {"a": 2}\n]\n', [(2, {"a": 1}), (3, {"a": 2})]),
        (" \n\n", []),
    ],
)
def test_objects_one_after_the_other(
    tmp_path: Path, text: str, rows: list[tuple[int, dict[str, Any]]]
) -> None:
    assert [(record.line, record.row) for record in read(tmp_path, text)] == rows


BAD: list[tuple[str | bytes, str]] = [
    ('{"a": 1}\n{"a": }\n{"a": 3}', " 7"),
    ('{\n "a": 1\n}\n{\n "b": {"c": [\n}\n{\n "a": 3\n}', "line 3"),
    ('[\n  {"a": 1},\n  {"b": {"c": [{,\n  {"a": 3}\n]', "Expecting property name"),
    ('{"a": 1}\n{"b": "two\nlines {"}\n{"a": 3}', "Invalid control character"),
    ('{"a": 1}\n{"b": NaN}\n{"a": 3}', "NaN"),
    ('{"a": 1}, "words", {"a": 3}', "JSON"),
    ('{"a": 1}\n{"b": ' + "[" * 100_000 + '\n{"a": 3}', "deeply"),
    ('{"a": 1}\n{"b": ' + "9" * 5000 + '}\n{"a": 3}', "limit"),
    (b'{"a": 1}\n{"b": "\xff"}\n{"a": 3}', "Unicode"),
    ('{"a": 1}\n{"b": "\\ud800"}\n{"a": 3}', "Unicode"),
]
"""Files with a bad object on or from line 2 (or on the only line) between two good
ones."""


@pytest.mark.parametrize(("text", "reason"), BAD, ids=lambda value: str(value[:30]))
def test_after_what_cannot_be_read_the_reading_goes_on(
    tmp_path: Path, text: str | bytes, reason: str
) -> None:
    first, bad, last = read(tmp_path, text)
    assert first.row == {"a": 1}
    assert first.fault == ""
    assert last.row == {"a": 3}
    assert last.fault == ""
    assert reason in bad.fault


def test_a_bad_record_keeps_its_line_and_identity_if_it_has_any(tmp_path: Path) -> None:
    found = read(tmp_path, '{\n "a": 1\n}\n{\n "b": oops\n}\n\n{"a": 3}')
    assert [(record.line, bool(record.fault)) for record in found] == [
        (1, False),
        (4, True),
        (8, False),
    ]
    text = (
        '{"domain": "social_science", "subdomain": "art", "id": "0501", '
        '"difficulty_level": 2, "input": {"modal": {'
    )
    (bad,) = read(tmp_path, text)
    assert bad.row == {
        "domain": "social_science",
        "subdomain": "art",
        "id": "0501",
        "difficulty_level": 2,
    }
    for written in ('"\\ud800"', "1.5", "[1]", "99999999999999999999"):
        assert [
            record.row for record in read(tmp_path, f'{{"id": {written}, oops}}')
        ] == [{}]


def test_a_record_that_was_cut_off_does_not_take_the_next_one_of_its_line_along(
    tmp_path: Path,
) -> None:
    found = read(
        tmp_path,
        '{"id": "1", "input": {"content": 7 {"id": "2", "input": {}} {"id": "3"}\n'
        '{"id": "4"}',
    )
    assert [record.row["id"] for record in found if not record.fault] == ["2", "3", "4"]
    assert [record.row for record in found if record.fault] == [{"id": "1"}]


@pytest.mark.parametrize(
    "text",
    ['{"a":[\n' * 5_000, "{" * 100_000, '{"id":' * 9_000 + "1", '{{"id":1}' * 5_000],
)
def test_hostile_files_are_read_to_their_end(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, text)


@given(
    st.lists(
        st.sampled_from(
            [
                '{"id": 1}',
                '{"c": "}{[\\""}',
                "{",
                "}",
                '"',
                "[",
                "\n",
                "\n  {",
                ",",
                "x",
                "\\",
            ]
        )
    )
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_stops_the_reading_and_a_whole_line_is_never_lost(
    tmp_path: Path, pieces: list[str]
) -> None:
    last = read(tmp_path, "".join(pieces) + '\n{"last": true}\n')[-1]
    assert (last.row, last.fault) == ({"last": True}, "")


def test_files_that_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingDataError, match=r"gone\.jsonl"):
        list(read_records(tmp_path / "gone.jsonl"))
    with pytest.raises(MissingDataError, match="git lfs pull"):
        read(
            tmp_path,
            "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n",
        )
    monkeypatch.setattr("mmeval.tasks.unim.data.concatenated_json.MAX_FILE_BYTES", 5)
    with pytest.raises(UsageError, match="Split it"):
        read(tmp_path, '{"a": 1}')
