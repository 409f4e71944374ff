from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.authoring.package.contents import LeftOut, _files, left_out, remedy
from mmeval.authoring.package.wheel import Wheel
from tests.support.task_folder import write_files


def wheel_with(*names: str, entry_points: str = "") -> Wheel:
    return Wheel(Path("x.whl"), frozenset(names), "x", "1", frozenset(), {"entry_points.txt": entry_points})


def package(folder: Path, *names: str) -> Path:
    return write_files(folder, dict.fromkeys(names, ""))


@pytest.mark.parametrize("home", ["", "src/"])
def test_files_that_the_wheel_lacks_are_listed_by_package_and_kind(home: str, tmp_path: Path) -> None:
    names = ("her/__init__.py", "her/tasks/__init__.py", "her/tasks/a.yaml", "her/tasks/p/a.md", "her/tasks/p/b.md")
    source = package(tmp_path, *(f"{home}{name}" for name in names))

    found = left_out(source, wheel_with(*names[:3]))

    assert found == [LeftOut("her.tasks", "**/*.md", ("her/tasks/p/a.md", "her/tasks/p/b.md"), needed=True)]


def test_a_module_without_its_package_is_needed(tmp_path: Path) -> None:
    source = package(tmp_path, "her/__init__.py", "her/more/__init__.py", "her/more/a.py")

    (found,) = left_out(source, wheel_with("her/__init__.py"))

    assert (found.package, found.pattern, found.needed) == ("her.more", "**/*.py", True)


@pytest.mark.parametrize("name", ["her/.hidden", "her/__pycache__/a.pyc", "her/a.py~", "her/.cache/a.yaml"])
def test_what_nobody_means_to_ship_is_not_missed(name: str, tmp_path: Path) -> None:
    source = package(tmp_path, "her/__init__.py", name)

    assert left_out(source, wheel_with("her/__init__.py")) == []


def test_a_file_that_no_task_is_made_of_is_only_doubtful(tmp_path: Path) -> None:
    source = package(tmp_path, "her/__init__.py", "her/notes.ipynb")

    assert [one.needed for one in left_out(source, wheel_with("her/__init__.py"))] == [False]


def test_a_package_that_is_not_in_the_wheel_at_all_is_found_by_its_entry_points(tmp_path: Path) -> None:
    source = package(tmp_path, "her/__init__.py")

    (found,) = left_out(source, wheel_with("his.py", entry_points="[mmeval.tasks]\nher = her.tasks\n"))

    assert found.files == ("her/__init__.py",)


@pytest.mark.parametrize(
    ("files", "pattern", "said"),
    [
        ({}, "**/*.md", 'add to [tool.setuptools.package-data]: "her.tasks" = ["**/*.md"]'),
        ({}, "**/*.py", '[tool.setuptools.packages.find] include = ["her*"]'),
        ({"setup.cfg": "[options.package_data]\n"}, "**/*.md", "of setup.cfg: her.tasks = **/*.md"),
        (
            {"pyproject.toml": '[build-system]\nbuild-backend = "hatchling.build"\n'},
            "**/*.md",
            "by the settings of hatchling",
        ),
    ],
)
def test_the_remedy_is_that_of_the_build_backend(
    files: dict[str, str], pattern: str, said: str, tmp_path: Path
) -> None:
    source = write_files(tmp_path, files)

    assert said in remedy(LeftOut("her.tasks", pattern, ("her/tasks/x",), needed=True), source)


def test_many_files_are_counted() -> None:
    assert LeftOut("her", "**/*.md", tuple("abcde"), needed=True).shown == "a, b, c and 2 more"


def test_a_run_inside_the_package_is_nothing_to_pack(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"own/__init__.py": "", "own/tasks/runs/m/1/run.json": "{}", "own/tasks/runs/m/1/a.jsonl": ""}
    )

    assert [str(path) for path in _files(tmp_path / "own")] == ["__init__.py"]
