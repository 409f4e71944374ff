from pathlib import Path
from typing import Any

import pytest

from mmeval.task.include import TaskFiles
from mmeval.task.scan import FileScan, scan_file, yaml_files
from tests.support.task_folder import write_files


def scanned(tmp_path: Path, text: str) -> FileScan:
    return scan_file(write_files(tmp_path, {"f.yaml": text}) / "f.yaml", TaskFiles())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("task: a_1  # name\nrepeats: 2", ("a_1", "")),
        ("task: a\ntag:\n  - x\n  - y", ("a", "", ("x", "y"))),
        (
            "task: a\nmetadata: {version: 1.0, license: MIT}",
            ("a", "", (), "1.0", "MIT"),
        ),
        ("group: g\ntask:\n  - a\n  - task: b\n    tag: z", ("", "g")),
        ("task: [a, b]\ngroup: g\ntag: x", ("", "g", ("x",))),
        ("# a template\ntag: t", ("", "", ("t",))),
        ("", ("", "")),
    ],
    ids=lambda value: value[:18] if isinstance(value, str) else None,
)
def test_task_group_tags_and_version_are_found(
    tmp_path: Path, text: str, expected: Any
) -> None:
    assert scanned(tmp_path, text) == FileScan(tmp_path / "f.yaml", *expected)


@pytest.mark.parametrize(
    "text",
    ["task: a\n'b: [", "group: g\n{", "task: 3", "task: no"],
    ids=["a task", "a group", "a number as name", "a boolean as name"],
)
def test_a_broken_file_goes_by_its_own_name(tmp_path: Path, text: str) -> None:
    scan = scanned(tmp_path, text)
    assert scan.name == "f"
    assert scan.problem is not None and scan.problem.file == tmp_path / "f.yaml"


def test_yaml_files_are_found_at_any_depth_but_in_folders_of_builds_runs_and_environments(
    tmp_path: Path,
) -> None:
    left = (
        "build/lib",
        "dist",
        "own.egg-info",
        ".venv",
        "node_modules",
        "env",
        "runs/m/1",
        ".git",
    )
    files = {
        "pyproject.toml": "",
        "n.yml": "",
        "env/pyvenv.cfg": "",
        **{f"{name}/t.yaml": "" for name in left},
    }
    found = ["b.yaml", "own/t.yaml", "own/build/b.yaml"]
    write_files(
        tmp_path, {**files, **dict.fromkeys(found, ""), "runs/m/1/run.json": "{}"}
    )
    assert list(yaml_files(tmp_path)) == [tmp_path / name for name in found]
