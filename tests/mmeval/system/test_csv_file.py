from pathlib import Path

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.system.csv_file import csv_reader, field_of, number_of


def test_a_row_has_its_fields_by_column(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"\xef\xbb\xbfmodel,value\na , 0.5\n")
    (row,) = csv_reader(file)
    assert field_of(row, "model") == "a"
    assert number_of(row, "value", file, 2) == 0.5


def test_an_absent_column_is_empty() -> None:
    assert field_of({"model": None}, "model") == ""


def test_text_in_another_encoding_is_found_in_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes("model,value\né,1\n".encode("latin-1"))
    with pytest.raises(TaskFileError, match=r"a\.csv:2: is not UTF-8"):
        csv_reader(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        csv_reader(tmp_path / "absent.csv")


@pytest.mark.parametrize("text", ["", "high", "nan", "inf"])
def test_a_number_must_be_finite(text: str) -> None:
    with pytest.raises(TaskFileError, match="must be a number"):
        number_of({"value": text}, "value", Path("a.csv"), 2)
