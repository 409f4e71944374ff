from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.task.file import parse_task
from mmeval.task.include import TaskFiles
from tests.support.task_folder import task, write_files

DIGEST = "'" + "0123456789abcdef" * 4 + "'"


@pytest.mark.parametrize(
    ("keys", "complaint"),
    [
        ("expected: {row: 3}", r't.yaml:5: expected.row: unknown key; did you mean "rows"'),
        ("expected: {rows: -1}", r"expected.rows: must be at least 0"),
        ("expected: {rows: many}", r"expected.rows: must be a whole number"),
        ("expected: {media: {picture: 3}}", r"unknown kind of part 'picture'"),
        ("expected: {files: {a.txt: abc}}", r"'abc' is no SHA-256: 64 hexadecimal digits"),
        (f"expected: {{files: {{../a.txt: {DIGEST}}}}}", r"'../a.txt' is no path inside the data folder"),
        (f"expected: {{files: {{'C:\\a': {DIGEST}}}}}", r"is no path inside the data folder"),
        ("by_hand: [{path: /etc, source: x}]", r"'/etc' is no path inside the data folder"),
        ("by_hand: [{path: a, from: x}]", r"by_hand\[0\].from: unknown key"),
        ("by_hand: [{path: a}]", r"source is missing"),
        ("by_hand: {path: a, source: x}", r"by_hand: must be a list"),
    ],
)
def test_what_the_data_should_be_is_checked_as_it_is_written(tmp_path: Path, keys: str, complaint: str) -> None:
    write_files(tmp_path, {"t.yaml": task("t", keys + "\n")})

    with pytest.raises(TaskFileError, match=complaint):
        parse_task(TaskFiles([tmp_path]).document(tmp_path / "t.yaml"))
