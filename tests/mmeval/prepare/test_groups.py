import json
from pathlib import Path

from mmeval.findings.finding import Subject
from mmeval.prepare.groups import GroupCheck, check_groups
from mmeval.prepare.ready import check_data
from mmeval.prepare.sources import build_tasks
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.task.task import TaskOverrides
from tests.support.task_folder import task, write_files
from tests.support.tiny_media import picture

ROWS = [
    {
        "input": "Look: <<image1>>",
        "reference": "oak",
        "media": {"image1": "a.png"},
        "level": "easy",
    },
    {"input": "Which?", "reference": "ash", "level": "hard"},
]
HARD = "data\nfilter: {level: hard}"


def write(folder: Path, expected: str, **tasks: str) -> Path:
    """A group of tasks, each with the folder of its data, and further keys on lines of
    their own."""
    for name, more in tasks.items():
        data = folder / more.partition("\n")[0]
        write_files(
            data, {"test.jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS)}
        )
        (data / "a.png").write_bytes(picture())
        write_files(folder, {f"{name}.yaml": task(name, f"dataset_path: {more}")})
    group = f"group: all\ntask: [{', '.join(tasks)}]\n{expected}\n"
    return write_files(folder, {"all.yaml": group}) / "all.yaml"


def found(group: Path) -> list[GroupCheck]:
    chosen = choose([str(group)], TaskIndex())
    tasks = build_tasks(chosen, TaskOverrides())
    return list(check_groups(chosen, list(check_data(tasks, {}, weights=False))))


def test_different_rows_and_media_are_compared_with_what_the_group_expects(
    tmp_path: Path,
) -> None:
    expected = "expected: {rows: 2, media: {image: 1}}"
    alike = write(tmp_path / "alike", expected, one="data", two=HARD)
    assert found(alike) == [GroupCheck("all", True, 2, {"image": 1})]
    expected = "expected: {rows: 4, media: {image: 2}}"
    apart = write(tmp_path / "apart", expected, one="data", two="others")
    assert found(apart) == [GroupCheck("all", True, 4, {"image": 2})]
    expected = "expected: {rows: 5, media: {audio: 1}}"
    (whole,) = found(write(tmp_path, expected, one="data", two="data"))
    rows, sounds = whole.findings
    assert (rows.subject, rows.count, rows.of) == (Subject("all"), 2, 5)
    assert (sounds.count, sounds.of) == (0, 1)
    assert not whole.ready


def test_where_data_are_missing_there_is_no_number_of_the_whole(tmp_path: Path) -> None:
    group = write(tmp_path, "expected: {rows: 2}", one="data", two="others")
    (tmp_path / "others/test.jsonl").unlink()
    assert found(write(tmp_path / "without", "", one="data")) == []
    assert found(group) == []


def test_rows_that_cannot_be_asked_are_counted_once_beside_the_others(
    tmp_path: Path,
) -> None:
    group = write(
        tmp_path, "expected: {rows: 2, media: {image: 1}}", one="data", two=HARD
    )
    (tmp_path / "data/a.png").unlink()
    assert found(group) == [GroupCheck("all", False, 2, {})]
