from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.task.file import parse_task
from mmeval.task.include import TaskFiles
from tests.support.task_folder import task, write_files


def test_included_keys_are_overridden_by_later_files_and_by_the_file_itself(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "a.yaml": "repeats: 2\nloader: one\ntest_split: a",
            "sub/b.yaml": "include: ../a.yaml\nloader: two",
            "t.yaml": task("t", "include: [a.yaml, sub/b.yaml]\nrepeats: 5"),
        },
    )
    file = parse_task(TaskFiles([tmp_path]).document(tmp_path / "t.yaml"))
    assert (file.keys.repeats, file.keys.loader, file.keys.test_split) == (5, "two", "a")
    assert file.beside("loader") == tmp_path / "sub"


def test_a_fault_in_an_included_file_is_told_where_it_stands(tmp_path: Path) -> None:
    write_files(tmp_path, {"_base": "# template\nrepeats: 0", "t.yaml": task("t", "include: _base")})
    with pytest.raises(TaskFileError, match=r"_base:2: repeats: must be at least 1"):
        parse_task(TaskFiles([tmp_path]).document(tmp_path / "t.yaml"))


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"t.yaml": "include: gone.yaml"}, r"t.yaml:1: include: there is no file 'gone.yaml'"),
        ({"t.yaml": "include: t.yaml"}, r"t.yaml:1: include: .* leads back to itself: t.yaml -> t.yaml"),
        ({"t.yaml": "include: a", "a": "\ninclude: t.yaml"}, r"a:2: include: .* t.yaml -> a -> t.yaml"),
        ({"t.yaml": "include: ../x.yaml"}, r"t.yaml:1: include: '../x.yaml' leads out of the package"),
        ({"t.yaml": "include: /etc/hostname"}, r"t.yaml:1: include: .* leads out"),
        ({"t.yaml": "include:\n  - 3"}, r"t.yaml:2: include\[0\]: must be the name of a file"),
    ],
    ids=["missing", "itself", "cycle", "outside", "absolute", "number"],
)
def test_a_wrong_include_is_refused(tmp_path: Path, files: dict[str, str], complaint: str) -> None:
    write_files(tmp_path, {"x.yaml": "repeats: 1"})
    root = write_files(tmp_path / "package", files)
    with pytest.raises(TaskFileError, match=complaint):
        TaskFiles([root]).document(root / "t.yaml")


def test_an_include_may_not_follow_a_link_out_of_the_package(tmp_path: Path) -> None:
    write_files(tmp_path, {"secret": "repeats: 1", "package/t.yaml": "include: link"})
    (tmp_path / "package/link").symlink_to(tmp_path / "secret")
    with pytest.raises(TaskFileError, match="leads out"):
        TaskFiles([tmp_path / "package"]).document(tmp_path / "package/t.yaml")


def test_a_package_may_include_from_a_folder_of_the_include_path(tmp_path: Path) -> None:
    write_files(tmp_path, {"mine/base.yaml": "repeats: 7", "package/t.yaml": "include: ../mine/base.yaml"})
    files = TaskFiles([tmp_path / "package", tmp_path / "mine"])
    assert files.document(tmp_path / "package/t.yaml").data == {"repeats": 7}


def test_a_path_through_an_included_file_has_no_detours(tmp_path: Path) -> None:
    write_files(tmp_path, {"base.yaml": "loader: one", "sub/t.yaml": task("t", "include: ../base.yaml")})

    file = parse_task(TaskFiles([tmp_path]).document(tmp_path / "sub/t.yaml"))

    assert file.beside("loader") == tmp_path


def test_a_detour_through_a_link_stays_as_it_leads_elsewhere(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            "base.yaml": "loader: near",
            "far/base.yaml": "loader: far",
            "far/sub/t.yaml": task("t", "include: ../base.yaml"),
        },
    )
    (tmp_path / "sub").symlink_to(tmp_path / "far/sub")

    file = parse_task(TaskFiles([tmp_path]).document(tmp_path / "sub/t.yaml"))

    assert file.keys.loader == "far"
