import os
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.interchange.foreign_lines import line_at, lines_of


def test_lines_are_found_again_by_their_place(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1}\n\n{"a": 2}')

    found = list(lines_of(file))

    assert [(line.place, line.row["a"]) for line in found] == [(f"{file}:1", 1), (f"{file}:3", 2)]
    assert [line_at(file, line.offset)["a"] for line in found] == [1, 2]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.jsonl")

    with pytest.raises(UsageError, match="is no plain file"):
        list(lines_of(tmp_path / "x.jsonl"))


def test_a_file_that_changed_meanwhile_is_told(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"a": 1}\n')
    file.write_text("gone\n")

    with pytest.raises(MissingDataError, match="has changed since it was opened"):
        line_at(file, 0)
    with pytest.raises(MissingDataError, match="cannot be read"):
        list(lines_of(tmp_path / "y.jsonl"))
