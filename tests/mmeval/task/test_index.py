import logging
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import AmbiguousNameError
from mmeval.task.index import TaskIndex
from mmeval.task.selection import select
from tests.support.task_folder import installed, task, write_files

MINE = {"one.yaml": task("one", "tag: handy"), "other.yaml": task("on_my_own")}


def names(*asked: str) -> list[str]:
    return [task.name for task in select(asked)]


@pytest.mark.parametrize("name", ["one", "on*", "handy"], ids=["name", "glob", "tag"])
def test_the_include_path_overrides_a_package(
    name: str, tmp_path: Path, monkeypatch: Any, caplog: Any
) -> None:
    mine = write_files(tmp_path / "mine", MINE)
    theirs = {"theirs": {"one.yaml": task("one", "tag: handy\nrepeats: 3")}}
    with installed(tmp_path / "site", monkeypatch, theirs):
        with caplog.at_level(logging.WARNING):
            chosen = {found.name: found.repeats for found in select([name], [mine])}
        (other,) = select(["theirs/one"], [mine])
    assert chosen["one"] == 1
    assert (other.name, other.repeats) == ("theirs/one", 3)
    (record,) = caplog.records
    assert record.args == (
        "one",
        mine / "one.yaml",
        tmp_path / "site/pkg_theirs/one.yaml",
    )


def test_a_name_that_two_packages_claim_fails_when_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages = {
        "left": {"a.yaml": task("same"), "b.yaml": task("left_only")},
        "right": {"a.yaml": task("same")},
    }
    with installed(tmp_path, monkeypatch, packages):
        with pytest.raises(AmbiguousNameError) as caught:
            select(["same"])
        assert names("left/same,right/same,left_only") == [
            "left/same",
            "right/same",
            "left_only",
        ]
        found = {
            glob: [entry.full_name for entry in TaskIndex().matching(glob)]
            for glob in ("*same", "left/*", "left_*")
        }
        both, left = ["left/same", "right/same"], ["left/left_only", "left/same"]
        assert found == {"*same": both, "left/*": left, "left_*": left[:1]}
    assert all(
        word in str(caught.value)
        for word in ("dist-left", "dist-right", "left/same or right/same")
    )


def test_a_name_that_two_files_of_a_package_claim_has_to_change(
    tmp_path: Path, monkeypatch: Any
) -> None:
    twice = {"mine": {"a.yaml": task("same"), "b.yaml": task("same")}}
    with (
        installed(tmp_path, monkeypatch, twice),
        pytest.raises(AmbiguousNameError) as caught,
    ):
        select(["mine/same"])
    assert all(word in str(caught.value) for word in ("a.yaml", "b.yaml", "rename"))


def test_a_missing_package_is_reported(
    tmp_path: Path, monkeypatch: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with installed(
        tmp_path, monkeypatch, {"here": {"a.yaml": task("here_a")}, "gone": {}}
    ) as folders:
        (folders["gone"] / "__init__.py").unlink()
        folders["gone"].rmdir()
        assert names("here_a") == ["here_a"]
    assert {record.args for record in caplog.records} == {
        ("gone", "dist-gone", "pkg_gone")
    }
