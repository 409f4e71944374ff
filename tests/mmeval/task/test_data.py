from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.hub import OutOfReachError
from mmeval.errors import MissingDataError, TaskFileError
from mmeval.task.build import build
from mmeval.task.data import TaskData
from mmeval.task.file import TaskFile, parse_task
from mmeval.task.include import TaskFiles
from mmeval.task.task import Task, TaskOverrides
from tests.support.task_folder import task, write_files, write_rows


def file_of(folder: Path, more: str = "") -> TaskFile:
    write_files(folder, {"t.yaml": task("t", more)})
    return parse_task(TaskFiles([folder]).document(folder / "t.yaml"))


def built(folder: Path, more: str = "", **overrides: Any) -> Task:
    return build(file_of(folder, more), TaskOverrides(**overrides))


def ids(made: Task) -> list[str]:
    return [sample.id for sample in made.dataset()]


def test_data_are_found_beside_the_file(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "local", "input": "q"})
    assert ids(built(tmp_path, "dataset_path: rows")) == ["local"]
    assert ids(built(tmp_path, f"dataset_path: {tmp_path / 'rows'}")) == ["local"]


def test_the_home_of_an_unknown_user_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"t\.yaml:[0-9]+: dataset_path: no user has the home '~nosuchuser/a'"):
        built(tmp_path, "dataset_path: ~nosuchuser/a").dataset()


def test_a_path_from_a_template_is_relative_to_the_template(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "shared", "input": "q"})
    write_files(tmp_path, {"_base": "dataset_path: rows", "sub/t.yaml": task("t", "include: ../_base")})
    file = parse_task(TaskFiles([tmp_path]).document(tmp_path / "sub/t.yaml"))
    assert ids(build(file)) == ["shared"]


@pytest.mark.parametrize(("below", "found"), [("org/name", "inner"), ("", "outer")])
def test_data_dir_holds_the_data_set_or_is_it(tmp_path: Path, below: str, found: str) -> None:
    write_rows(tmp_path / "data" / below, {"id": found, "input": "q"})
    assert ids(built(tmp_path, "dataset_path: org/name", data_dir=tmp_path / "data")) == [found]


def test_data_dir_is_not_left_by_a_dataset_path(tmp_path: Path) -> None:
    write_rows(tmp_path / "outside", {"id": "x", "input": "q"})
    (tmp_path / "data").mkdir()
    made = built(tmp_path, "dataset_path: ../outside", data_dir=tmp_path / "data")
    assert isinstance(made.dataset, TaskData)
    assert made.dataset.folder == tmp_path / "data"


def test_bundled_samples_lie_beside_the_file_and_are_not_comparable(tmp_path: Path) -> None:
    write_rows(tmp_path / "bundled", {"id": "small", "input": "q"})
    made = built(tmp_path, "dataset_path: org/name", data="bundled")
    assert (ids(made), made.comparable, made.config["data"]) == (["small"], False, "bundled")


@pytest.mark.parametrize(
    ("more", "overrides", "complaint"),
    [
        (
            "dataset_path: ./gone",
            {},
            "t.yaml:5: dataset_path: there is no folder .*gone; correct it, or give --data_dir",
        ),
        ("dataset_path: /gone/away", {}, "there is no folder /gone/away"),
        ("", {"data_dir": Path("/gone")}, "--data_dir /gone: there is no such folder"),
        ("", {"data": "bundled"}, "no bundled samples: t"),
    ],
)
def test_missing_data_are_told_with_the_way_to_supply_them(
    tmp_path: Path, more: str, overrides: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(MissingDataError, match=complaint):
        built(tmp_path, more, **overrides).dataset()


@pytest.mark.parametrize("bundled", [True, False], ids=["with bundled samples", "without"])
def test_data_that_the_hub_does_not_give_are_told_with_the_other_ways(tmp_path: Path, *, bundled: bool) -> None:
    if bundled:
        write_rows(tmp_path / "bundled", {"id": "small", "input": "q"})

    with pytest.raises(OutOfReachError) as caught:
        built(tmp_path, "dataset_path: org/no_such_name").dataset()

    assert "Other ways: 'mmeval prepare t' on a machine with a network" in str(caught.value)
    assert "--data_dir FOLDER for a folder that holds them" in str(caught.value)
    assert ("--data bundled" in str(caught.value)) == bundled


def test_bundled_samples_may_not_lie_outside(tmp_path: Path) -> None:
    with pytest.raises(TaskFileError, match=r"t.yaml:5: bundled: .* leads out of"):
        built(tmp_path, "bundled: ../x", data="bundled")


def test_the_record_of_local_data_holds_no_path_of_the_machine(tmp_path: Path) -> None:
    write_rows(tmp_path / "rows", {"id": "s", "input": "q"})

    assert built(tmp_path, f"dataset_path: {tmp_path / 'rows'}").source() == {
        "path": "rows",
        "revision": "",
        "commit": "",
        "bundled": False,
    }


def test_the_record_of_a_hub_snapshot_names_its_commit(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots" / ("0123456789" * 4)
    write_rows(folder, {"id": "s", "input": "q"})

    found = built(tmp_path, "dataset_path: org/name\nrevision: main", data_dir=folder).source()

    assert found == {"path": "org/name", "revision": "main", "commit": folder.name, "bundled": False}


def test_the_record_says_when_the_bundled_samples_were_used(tmp_path: Path) -> None:
    write_rows(tmp_path / "bundled", {"id": "small", "input": "q"})

    assert built(tmp_path, "dataset_path: org/name", data="bundled").source()["bundled"] is True


@pytest.mark.parametrize("path", ["dat", "some/where/deep", "rows/"])
def test_a_misspelt_folder_is_told_with_its_place_before_the_hub_is_looked_at(tmp_path: Path, path: str) -> None:
    made = built(tmp_path, f"dataset_path: {path}")

    with pytest.raises(
        MissingDataError, match=rf"t\.yaml:5: dataset_path: there is no folder '{path}' beside the file"
    ):
        made.dataset()
