from dataclasses import replace
from pathlib import Path

from mmeval.run.data_size import fewer_samples, more_rows
from mmeval.task.data import TaskData
from mmeval.task.task import ExpectedSize, Task
from tests.support.toy import Rows, task


def expecting(data: TaskData, **expected: int) -> Task:
    return replace(task(), dataset=data, expected=ExpectedSize(**expected))


def in_folder(path: str, data_dir: Path | None = None) -> TaskData:
    return TaskData("toy", lambda source: Rows([]), path=path, data_dir=data_dir)


def test_fewer_rows_than_expected_are_a_part_of_the_data() -> None:
    [found] = fewer_samples(expecting(in_folder("rows"), rows=4), 3, None)
    assert (found.kind, found.count, found.of) == ("subset", 3, 4)


def test_samples_that_a_filter_keeps_are_compared_with_those_expected() -> None:
    [found] = fewer_samples(expecting(in_folder("rows"), rows=4, samples=3), 4, 2)
    assert (found.count, found.of) == (2, 3)


def test_as_many_rows_as_expected_are_no_finding() -> None:
    whole = expecting(in_folder("rows"), rows=4)
    assert [*fewer_samples(whole, 4, 4), *more_rows(whole, 4)] == []


def test_data_of_the_hub_are_fetched_by_prepare() -> None:
    [found] = fewer_samples(expecting(in_folder("me/rows"), rows=4), 3, 3)
    assert found.remedy == "mmeval prepare {TASK}"


def test_data_that_prepare_began_to_fetch_are_fetched_to_the_same_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "me/rows/.cache/huggingface").mkdir(parents=True)
    begun = in_folder("me/rows", tmp_path)
    [found] = fewer_samples(expecting(begun, rows=4), 3, 3)
    assert found.remedy == f"mmeval prepare {{TASK}} --data_dir {tmp_path}"


def test_no_command_fetches_data_of_a_local_folder() -> None:
    [found] = fewer_samples(expecting(in_folder("rows"), rows=4), 3, 3)
    assert found.remedy == ""
