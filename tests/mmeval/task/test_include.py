from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.task.file import TaskFile, parse_task
from mmeval.task.include import TaskFiles
from tests.support.task_folder import task, write_files


def read(folder: Path, name: str = "t.yaml") -> TaskFile:
    return parse_task(TaskFiles([folder]).document(folder / name))


def test_included_keys_are_overridden_by_later_files_and_by_the_file_itself(tmp_path: Path) -> None:
    a, b = "repeats: 2\nloader: one\ntest_split: a", "include: ../a.yaml\nloader: two"
    top = task("t", "include: [a.yaml, sub/b.yaml]\nrepeats: 5")
    file = read(write_files(tmp_path, {"a.yaml": a, "sub/b.yaml": b, "t.yaml": top}))
    assert (file.keys.repeats, file.keys.loader, file.keys.test_split) == (5, "two", "a")
    assert file.beside("loader") == tmp_path / "sub"


def test_a_fault_in_an_included_file_has_its_place_there(tmp_path: Path) -> None:
    write_files(tmp_path, {"_base": "# template\nrepeats: 0", "t.yaml": task("t", "include: _base")})
    with pytest.raises(TaskFileError) as caught:
        read(tmp_path)
    assert (caught.value.file, caught.value.line, caught.value.name) == (tmp_path / "_base", 2, "repeats")


@pytest.mark.parametrize(
    ("files", "place", "word"),
    [
        ({"t.yaml": "include: gone.yaml"}, ("t.yaml", 1, "include"), "'gone.yaml'"),
        ({"t.yaml": "include: t.yaml"}, ("t.yaml", 1, "include"), "t.yaml -> t.yaml"),
        ({"t.yaml": "include: a", "a": "\ninclude: t.yaml"}, ("a", 2, "include"), "t.yaml -> a -> t.yaml"),
        ({"t.yaml": "include: ../x.yaml"}, ("t.yaml", 1, "include"), "leads out"),
        ({"t.yaml": "include: /etc/hostname"}, ("t.yaml", 1, "include"), "leads out"),
        ({"t.yaml": "include: link"}, ("t.yaml", 1, "include"), "leads out"),
        ({"t.yaml": "include:\n  - 3"}, ("t.yaml", 2, "include[0]"), "name of a file"),
        ({"t.yaml": "include: 3"}, ("t.yaml", 1, "include"), "list of names"),
    ],
    ids=["missing", "itself", "cycle", "outside", "absolute", "link", "number", "no list"],
)
def test_wrong_includes_are_refused(
    tmp_path: Path, files: dict[str, str], place: tuple[str, int, str], word: str
) -> None:
    root = write_files(tmp_path / "package", files)
    (root / "link").symlink_to(write_files(tmp_path, {"x.yaml": "repeats: 1"}) / "x.yaml")
    with pytest.raises(TaskFileError) as caught:
        TaskFiles([root]).document(root / "t.yaml")
    assert (caught.value.file.name, caught.value.line, caught.value.name) == place
    assert word in str(caught.value)


def test_a_package_may_include_from_a_folder_of_the_include_path(tmp_path: Path) -> None:
    write_files(tmp_path, {"mine/base.yaml": "repeats: 7", "package/t.yaml": "include: ../mine/base.yaml"})
    files = TaskFiles([tmp_path / "package", tmp_path / "mine"])
    assert files.document(tmp_path / "package/t.yaml").data == {"repeats": 7}


def test_a_file_outside_of_all_folders_may_include_from_its_own_alone(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"base.yaml": "repeats: 7", "t.yaml": "include: base.yaml", "sub/u.yaml": "include: ../base.yaml"}
    )
    files = TaskFiles([])
    assert files.document(tmp_path / "t.yaml").data == {"repeats": 7}
    with pytest.raises(TaskFileError, match="leads out"):
        files.document(tmp_path / "sub/u.yaml")


def test_a_path_through_an_included_file_has_no_detours(tmp_path: Path) -> None:
    write_files(tmp_path, {"base.yaml": "loader: one", "sub/t.yaml": task("t", "include: ../base.yaml")})
    assert read(tmp_path, "sub/t.yaml").beside("loader") == tmp_path


def test_a_detour_through_a_link_stays_as_it_leads_elsewhere(tmp_path: Path) -> None:
    near, far = {"base.yaml": "loader: near"}, {"far/base.yaml": "loader: far"}
    write_files(tmp_path, {**near, **far, "far/sub/t.yaml": task("t", "include: ../base.yaml")})
    (tmp_path / "sub").symlink_to(tmp_path / "far/sub")
    assert read(tmp_path, "sub/t.yaml").keys.loader == "far"
