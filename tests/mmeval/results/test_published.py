from pathlib import Path

import pytest

from mmeval.errors import TaskFileError, UsageError
from mmeval.results.published import LOST_THERE, NumberKey, TableNumber, read_published


def written(tmp_path: Path, *lines: str) -> Path:
    file = tmp_path / "published.csv"
    file.write_text("\n".join((*lines, "")), encoding="utf-8")
    return file


def test_models_and_numbers_keep_their_order(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "model,group,task,metric,slice,kind,value,state",
        "B,Open,t,m,,,0.5,",
        '"A, 2",Closed,t,m,level=1,relative,,cannot',
        "B,Open,u,m,,,,lost",
    )
    first, second = read_published(file)
    u = NumberKey("u", "m")
    assert (first.name, first.group) == ("B", "Open")
    assert list(first.numbers) == [NumberKey("t", "m"), u]
    assert first.numbers[u] == TableNumber(u, None, "lost", LOST_THERE)
    sliced = NumberKey("t", "m", "level=1", "relative")
    assert second.numbers == {sliced: TableNumber(sliced, None, "cannot")}


def test_optional_columns_may_be_absent(tmp_path: Path) -> None:
    (model,) = read_published(written(tmp_path, "value,model,metric,task", "1,A,m,t"))
    assert model.numbers[NumberKey("t", "m")].value == 1


def test_a_number_without_value_and_state_is_lost(tmp_path: Path) -> None:
    (model,) = read_published(written(tmp_path, "model,task,metric,value", "A,t,m,"))
    assert model.numbers[NumberKey("t", "m")].state == "lost"


@pytest.mark.parametrize(
    "row, words",
    [
        (",t,m,,,1,", "model is missing"),
        ("A,,m,,,1,", "task is missing"),
        ("A,t,m,,,x,", "value: must be a number, not 'x'"),
        ("A,t,m,,,nan,", "value: must be a number, not 'nan'"),
        ("A,t,m,,tua,1,", 'did you mean "tau"'),
        ("A,t,m,,,,canot", 'did you mean "cannot"'),
        ("A,t,m,,,1,lost", "for a number without a value"),
    ],
)
def test_a_fault_is_found_in_its_line(tmp_path: Path, row: str, words: str) -> None:
    file = written(tmp_path, "model,task,metric,slice,kind,value,state", row)
    with pytest.raises(TaskFileError, match=r"published\.csv:2: ") as error:
        read_published(file)
    assert words in str(error.value)


def test_a_line_that_ends_before_its_value_is_not_a_lost_number(
    tmp_path: Path,
) -> None:
    file = written(tmp_path, "model,task,metric,value", "A,t,m")
    with pytest.raises(TaskFileError, match=r":2: the line ends before .* value"):
        read_published(file)


def test_optional_fields_may_be_absent_at_the_end_of_a_line(tmp_path: Path) -> None:
    file = written(tmp_path, "model,task,metric,value,state", "A,t,m,1")
    (model,) = read_published(file)
    assert model.numbers[NumberKey("t", "m")].value == 1


def test_a_number_that_occurs_twice_is_refused(tmp_path: Path) -> None:
    file = written(tmp_path, "model,task,metric,value", "A,t,m,1", "A,t,m,2")
    with pytest.raises(TaskFileError, match=r":3: .*occurs twice"):
        read_published(file)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match="the column metric is missing"):
        read_published(written(tmp_path, "model,task,value"))


def test_a_missing_file_is_an_error_of_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_published(tmp_path / "none.csv")
