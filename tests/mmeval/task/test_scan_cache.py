import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mmeval._version import __version__
from mmeval.task import index, scan_cache
from mmeval.task.include import TaskFiles
from mmeval.task.index import IndexEntry, TaskIndex
from mmeval.task.scan import FileScan, scan_file
from mmeval.task.scan_cache import FEW, FORMAT
from tests.support.task_folder import task, write_files

FILES = {
    "a.yaml": "task: a\ntag: x\nmetadata: {version: 1.5, license: MIT}",
    "sub/b.yaml": "task: b\ninclude: [../_base.yaml, _none.yaml]",
    "sub/_none.yaml": "repeats: 2",
    "_base.yaml": "tag: deep\nmetadata: {version: 2}",
}


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are read, from now on; all of them may be kept."""
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(scan_cache, "FEW", 1)
    monkeypatch.setattr(index, "_package_roots", lambda: [])
    found: list[str] = []

    def noted(file: Path, files: TaskFiles) -> FileScan:
        found.append(file.name)
        return scan_file(file, files)

    monkeypatch.setattr(index, "scan_file", noted)
    return found


def listed(folder: Path) -> list[IndexEntry]:
    return list(TaskIndex([folder]).listing())


def test_a_file_is_read_once_for_all_calls(tmp_path: Path, read: list[str]) -> None:
    folder = write_files(tmp_path / "tasks", FILES)
    first = listed(folder)
    assert [
        (entry.name, entry.tags, entry.version, entry.license) for entry in first
    ] == [
        ("a", ("x",), "1.5", "MIT"),
        ("b", ("deep",), "2", ""),
    ]
    assert sorted(read) == sorted(Path(name).name for name in FILES)
    read.clear()
    assert (
        listed(folder),
        [entry.name for entry in TaskIndex([folder]).tagged("deep")],
        read,
    ) == (first, ["b"], [])


def test_four_files_are_many_enough_to_be_kept(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan_cache, "FEW", FEW)
    folder = write_files(tmp_path / "tasks", FILES)
    listed(folder)
    read.clear()
    listed(folder)
    assert read == []


@pytest.mark.parametrize(
    ("change", "again", "names"),
    [
        (
            lambda folder: write_files(folder, {"a.yaml": task("c")}),
            ["a.yaml"],
            ["b", "c"],
        ),
        (
            lambda folder: write_files(folder, {"c.yaml": task("c")}),
            ["c.yaml"],
            ["a", "b", "c"],
        ),
        (
            lambda folder: write_files(folder, {"_base.yaml": "tag: new"}),
            ["_base.yaml", "b.yaml"],
            ["a", "b: new"],
        ),
        (lambda folder: (folder / "sub/_none.yaml").unlink(), ["b.yaml"], ["a", "b!"]),
        (lambda folder: (folder / "a.yaml").unlink(), [], ["b"]),
        (
            lambda folder: (folder / "sub/_none.yaml").replace(folder / "a.yaml"),
            ["a.yaml", "b.yaml"],
            ["b!"],
        ),
    ],
    ids=["changed", "new", "include", "lost include", "lost", "replaced"],
)
def test_what_has_changed_is_read_again(
    change: Callable[[Path], object],
    again: list[str],
    names: list[str],
    tmp_path: Path,
    read: list[str],
) -> None:
    folder = write_files(tmp_path / "tasks", FILES)
    listed(folder)
    read.clear()
    change(folder)
    found = [
        entry.name + ("!" if entry.problem else ": new" if "new" in entry.tags else "")
        for entry in listed(folder)
    ]
    assert (sorted(read), found) == (again, names)


def test_files_with_faults_and_those_that_include_from_other_folders_are_read_each_time(
    tmp_path: Path, read: list[str]
) -> None:
    other = write_files(tmp_path / "other", {"o.yaml": "tag: far"})
    own = {
        "bad.yaml": "task: bad\n'x: [",
        "far.yaml": task("far", "include: ../other/o.yaml"),
        "fine.yaml": task("f"),
    }
    folder = write_files(tmp_path / "tasks", own)
    for problems in ([True, False, False], [True, False, False]):
        read.clear()
        entries = list(TaskIndex([folder, other]).listing())
        assert [entry.problem is not None for entry in entries] == problems
    assert read == ["bad.yaml", "far.yaml"]
    assert [entry.name for entry in listed(folder) if entry.problem] == ["bad", "far"]


def test_a_file_that_is_saved_while_it_is_read_is_read_again(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_files(tmp_path / "tasks", {"a.yaml": task("a")})

    def saved_while_read(file: Path, files: TaskFiles) -> FileScan:
        found = scan_file(file, files)
        file.write_text(task("renamed"))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(index, "scan_file", saved_while_read)
        listed(folder)
    assert [entry.name for entry in listed(folder)] == ["renamed"]


OF_ANOTHER_SHAPE = json.dumps([FORMAT, __version__, {}, {"a.yaml": ["a"]}]).encode()


@pytest.mark.parametrize("damage", [b"", b"\xff", b"7", OF_ANOTHER_SHAPE])
def test_a_damaged_cache_is_made_anew(
    damage: bytes, tmp_path: Path, read: list[str]
) -> None:
    folder = write_files(tmp_path / "tasks", FILES)
    first = listed(folder)
    (kept,) = (tmp_path / "cache/tasks").iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage)
    assert listed(folder) == first
    assert kept.read_bytes() == whole


def test_nothing_is_kept_where_the_cache_cannot_be_written(
    tmp_path: Path, read: list[str]
) -> None:
    folder = write_files(tmp_path / "tasks", FILES)
    (tmp_path / "cache").write_text("")
    assert listed(folder) == listed(folder)
    assert len(read) == 2 * len(FILES)
