import os
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.system import foreign_lines
from mmeval.system.foreign_lines import (
    MAX_DEPTH,
    MAX_DIGITS,
    LineFault,
    line_at,
    lines_of,
    list_of,
)


def test_lines_are_found_again_by_their_place_and_a_pipe_or_a_missing_file_is_refused(
    tmp_path: Path,
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1}\n\n{"a": 2}')
    lines = list(lines_of(file))
    first, third = (f"{file}:1", 0, {"a": 1}), (f"{file}:3", 10, {"a": 2})
    assert [(line.place, line.offset, line.row) for line in lines] == [first, third]
    assert [line_at(file, line.offset)["a"] for line in lines] == [1, 2]
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UsageError, match="not a regular file"):
        list(lines_of(tmp_path / "pipe.jsonl"))
    with pytest.raises(UsageError, match="not a regular file"):
        list_of(tmp_path / "pipe.jsonl")
    with pytest.raises(MissingDataError, match=r"y\.jsonl"):
        list(lines_of(tmp_path / "y.jsonl"))


def test_the_lines_after_one_with_a_number_that_is_too_long_are_read(
    tmp_path: Path,
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(
        "".join(
            f'{{"a": [{"7" * digits}]}}\n' for digits in (MAX_DIGITS, MAX_DIGITS + 1, 1)
        )
    )
    rows = [line.row for line in lines_of(file, faults=True)]
    assert [isinstance(row, LineFault) for row in rows] == [False, True, False]
    with pytest.raises(UsageError, match=r":2: .*4,300 digits"):
        list(lines_of(file))


def test_the_lines_after_one_that_is_too_long_or_too_deep_are_read(
    tmp_path: Path,
) -> None:
    def nested(depth: int) -> str:
        return f'{{"a": {"[" * depth}{"]" * depth}}}'

    file = tmp_path / "x.jsonl"
    good, long = '{"a": "[[["}', '{"a": "' + "ä" * 3000 + '"}'
    lines = [
        good,
        nested(MAX_DEPTH - 1),
        nested(MAX_DEPTH),
        nested(900),
        nested(100_000),
        long,
        " " * 3000,
        good,
    ]
    file.write_text("\n".join(lines))
    read_lines = list(lines_of(file, most=300_000, faults=True))
    assert [isinstance(line.row, LineFault) for line in read_lines] == [
        False,
        False,
        True,
        True,
        True,
        False,
        False,
    ]
    short = list(lines_of(file, most=2000, faults=True))
    kinds = [
        "too deep" if "deep" in str(line.row) else "long"
        for line in short
        if isinstance(line.row, LineFault)
    ]
    assert kinds == ["too deep", "too deep", "long", "long", "long"]
    assert [line.number for line in short] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert file.read_bytes()[short[-1].offset :] == good.encode()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("[1]\n", "a list"),
        ('{"a"', "cut off"),
        ('{"a"}\n', "not JSON"),
        ('{"a": "bbbb"}\n', "0 MiB"),
    ],
)
def test_a_damaged_line_is_refused(
    line: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.jsonl"
    assert foreign_lines.MAX_LINE_BYTES == 2**26
    monkeypatch.setattr(foreign_lines, "MAX_LINE_BYTES", len('{"a": "bbb"}\n'))
    file.write_text('{"a": "bbb"}\n' + line)
    with pytest.raises(UsageError, match=f":2: .*{words}") as caught:
        list(lines_of(file))
    assert ("cut off" in str(caught.value)) == (words == "cut off")
    with pytest.raises(MissingDataError):  # the file has changed
        line_at(file, 13)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": 1', "Expecting ',' delimiter at column 8"),
        (b'{"a": NaN}', "NaN is not a JSON number; write null"),
        ('{"a": 1}'.encode("utf-16-le"), "Expecting property name"),
        (b'{"a": "\xff"}', "'utf-8' codec can't decode byte 0xff"),
    ],
    ids=["cut", "NaN", "UTF-16", "Latin-1"],
)
def test_a_line_that_is_not_json_in_utf_8_is_refused_with_its_place(
    line: bytes, reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_bytes(b'{"a": 0}\n' + line + b"\n")
    with pytest.raises(UsageError, match=r"x\.jsonl:2: the line is not JSON") as caught:
        list(lines_of(file))
    assert reason in str(caught.value)


@pytest.mark.parametrize("mark", ["\ufeff", "\x1e"], ids=["BOM", "RFC 7464"])
def test_a_mark_before_a_line_is_left_out(mark: str, tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f'{mark}{{"a": 1}}\n', encoding="utf-8")
    assert [line.row for line in lines_of(file)] == [{"a": 1}]
