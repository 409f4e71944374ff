from __future__ import annotations

import json
from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.prepare.groups import Together, together
from mmeval.prepare.ready import readiness
from mmeval.prepare.sources import wanted
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import write_files
from tests.support.tiny_media import picture

TASK = """\
task: {name}
dataset_path: {folder}
metric_list: [{{metric: exact_match}}]
metadata: {{version: 1}}
{more}
"""
GROUP = "group: all\ntask: [{tasks}]\n{expected}\n"
ROWS = [
    {"input": "Look: <<image1>>", "reference": "oak", "media": {"image1": "a.png"}, "level": "easy"},
    {"input": "Which?", "reference": "ash", "level": "hard"},
]


def write(folder: Path, expected: str, **tasks: str) -> Path:
    """A group of tasks, each a folder of data and further keys; folder and keys are parted by a semicolon."""
    for name, said in tasks.items():
        data, _, more = said.partition(";")
        write_files(folder, {
            f"{name}.yaml": TASK.format(name=name, folder=data, more=more),
            f"{data}/test.jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS),
        })  # fmt: skip
        (folder / data / "a.png").write_bytes(picture())
    return write_files(folder, {"all.yaml": GROUP.format(tasks=", ".join(tasks), expected=expected)}) / "all.yaml"


def found(group: Path) -> list[Together]:
    chosen = choose([str(group)], TaskIndex())
    return list(together(chosen, list(readiness(wanted(chosen, TaskOverrides()), {}, weights=False))))


def test_rows_and_media_that_tasks_share_count_once(tmp_path: Path) -> None:
    group = write(tmp_path, "expected: {rows: 2, media: {image: 1}}", one="data", two="data;filter: {level: hard}")
    assert found(group) == [Together("all", 2, {"image": 1})]


def test_equal_rows_of_other_folders_are_other_rows(tmp_path: Path) -> None:
    group = write(tmp_path, "expected: {rows: 4, media: {image: 2}}", one="data", two="others")
    assert found(group) == [Together("all", 4, {"image": 2})]


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ("expected: {rows: 5}", "2 rows are there, the task file expects 5"),
        ("expected: {media: {audio: 1}}", "0 audio files are there, the task file expects 1"),
    ],
    ids=["rows", "media"],
)
def test_other_numbers_than_the_groups_are_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], expected: str, fault: str
) -> None:
    code = main(["prepare", str(write(tmp_path, expected, one="data"))])

    said = capsys.readouterr().out
    assert code == 4
    assert "not ready  all as a whole: 2 different rows; media: 1 image file\n  - " + fault in said
    assert said.endswith("1 of 1 task ready\n")


def test_where_data_are_missing_there_is_no_number_of_the_whole(tmp_path: Path) -> None:
    group = write(tmp_path, "expected: {rows: 2}", one="data", two="others")
    (tmp_path / "others/test.jsonl").unlink()

    (whole,) = found(group)
    assert (whole.uncounted, whole.ready) == ("the data of 1 of its 2 tasks cannot be counted", False)


def test_rows_that_cannot_be_asked_are_counted_once_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    group = write(tmp_path, "expected: {rows: 3, media: {image: 1}}", one="data", two="data;filter: {level: hard}")
    (tmp_path / "data/a.png").unlink()
    code = main(["prepare", str(group)])

    said = capsys.readouterr().out
    assert code == 4
    assert "not ready  all as a whole: 2 different rows, 1 of them cannot be asked\n  - 2 rows are there, " in said
    assert "not ready  one: 2 of 2 rows, 1 of them cannot be asked\n" in said
    assert "image files" not in said


def test_of_a_group_that_expects_nothing_nothing_is_said(tmp_path: Path) -> None:
    assert found(write(tmp_path, "", one="data")) == []
