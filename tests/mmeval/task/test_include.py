import os
from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.task.file import TaskFile, parse_task
from mmeval.task.include import MAX_DEPTH, TaskFiles
from tests.support.task_folder import task, write_files


def read(folder: Path, name: str = "t.yaml") -> TaskFile:
    return parse_task(TaskFiles([folder]).document(folder / name))


def test_included_keys_are_overridden_by_later_files_and_by_the_file_itself(
    tmp_path: Path,
) -> None:
    a, b = "repeats: 2\nloader: one\ntest_split: a", "include: ../a.yaml\nloader: two"
    top = task("t", "include: [a.yaml, sub/b.yaml]\nrepeats: 5")
    file = read(write_files(tmp_path, {"a.yaml": a, "sub/b.yaml": b, "t.yaml": top}))
    assert (file.keys.repeats, file.keys.loader, file.keys.test_split) == (
        5,
        "two",
        "a",
    )
    assert file.beside("loader") == tmp_path / "sub"


def test_a_fault_in_an_included_file_has_its_place_there(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {"_base": "# template\nrepeats: 0", "t.yaml": task("t", "include: _base")},
    )
    with pytest.raises(TaskFileError) as caught:
        read(tmp_path)
    assert (caught.value.file, caught.value.line, caught.value.name) == (
        tmp_path / "_base",
        2,
        "repeats",
    )


def test_files_that_include_each_other_are_refused(tmp_path: Path) -> None:
    write_files(tmp_path, {"t.yaml": "include: a", "a": "\ninclude: t.yaml"})
    with pytest.raises(TaskFileError, match=r"t\.yaml -> a -> t\.yaml") as caught:
        TaskFiles([tmp_path]).document(tmp_path / "t.yaml")
    assert (caught.value.file.name, caught.value.line, caught.value.name) == (
        "a",
        2,
        "include",
    )


def test_files_of_the_include_path_and_of_a_file_s_own_folder_may_be_included(
    tmp_path: Path,
) -> None:
    texts = {
        "mine/base.yaml": "repeats: 7",
        "package/t.yaml": "include: ../mine/base.yaml",
    }
    write_files(tmp_path, {**texts, "mine/u.yaml": "include: base.yaml"})
    both, none = TaskFiles([tmp_path / "package", tmp_path / "mine"]), TaskFiles([])
    assert both.document(tmp_path / "package/t.yaml").data == {"repeats": 7}
    assert none.document(tmp_path / "mine/u.yaml").data == {"repeats": 7}
    with pytest.raises(TaskFileError, match="--include_path"):
        none.document(tmp_path / "package/t.yaml")


def test_a_path_has_no_detours_but_through_a_link_which_leads_elsewhere(
    tmp_path: Path,
) -> None:
    near, text = {"base.yaml": "loader: near"}, task("t", "include: ../base.yaml")
    write_files(
        tmp_path,
        {
            **near,
            "sub/t.yaml": text,
            "far/base.yaml": "loader: far",
            "far/sub/t.yaml": text,
        },
    )
    assert read(tmp_path, "sub/t.yaml").beside("loader") == tmp_path
    (tmp_path / "link").symlink_to(tmp_path / "far/sub")
    assert read(tmp_path, "link/t.yaml").keys.loader == "far"


def test_includes_that_are_too_deep_are_refused(tmp_path: Path) -> None:
    chain = {
        f"{number}.yaml": f"include: {number + 1}.yaml"
        for number in range(MAX_DEPTH + 2)
    }
    write_files(tmp_path, {**chain, "t.yaml": task("t", "include: 0.yaml")})
    with pytest.raises(
        TaskFileError, match=f"more than {MAX_DEPTH} levels deep"
    ) as caught:
        read(tmp_path)
    assert (caught.value.line, caught.value.name) == (1, "include")


def test_a_pipe_is_not_included(tmp_path: Path) -> None:
    write_files(tmp_path, {"t.yaml": task("t", "include: pipe")})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(TaskFileError, match="no file 'pipe'"):
        read(tmp_path)
