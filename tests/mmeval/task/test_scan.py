from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.task.scan import scan_file, yaml_files
from tests.support.task_folder import write_files


def scanned(tmp_path: Path, text: str) -> tuple[str, str, tuple[str, ...] | None, tuple[str, ...]]:
    write_files(tmp_path, {"f.yaml": text})
    scan = scan_file(tmp_path / "f.yaml")
    assert scan.problem is None
    return scan.task, scan.group, scan.tags, scan.includes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("task: a_1  # name\nrepeats: 2", ("a_1", "", None, ())),
        ("task: a\r\ntag: x\r\n", ("a", "", ("x",), ())),
        ("task: a\ntag: [x, y-z]", ("a", "", ("x", "y-z"), ())),
        ("task: a\ntag:\n  - x\n  - y", ("a", "", ("x", "y"), ())),
        ('"task": \'a\'\ntag: ["x"]', ("a", "", ("x",), ())),
        ("{task: a, tag: x}", ("a", "", ("x",), ())),
        ("include: _b.yaml\ntask: a", ("a", "", None, ("_b.yaml",))),
        ("group: g\ntask:\n  - a\n  - task: b\n    tag: z", ("", "g", None, ())),
        ("task:\n  - a\ngroup: g", ("", "g", None, ())),
        ("task: [a, b]\ngroup: g\ntag: x", ("", "g", ("x",), ())),
        ("prompt: |\n  task: not a name\nrepeats: 1", ("", "", None, ())),
        ("# a template\ntag: t", ("", "", ("t",), ())),
        ("", ("", "", None, ())),
    ],
    ids=lambda value: value[:18] if isinstance(value, str) else None,
)
def test_task_group_tags_and_includes_are_found_without_reading_the_rest(
    tmp_path: Path, text: str, expected: tuple[str, str, tuple[str, ...] | None, tuple[str, ...]]
) -> None:
    assert scanned(tmp_path, text) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [("task: a\n'b: [", "a"), ("group: g\n{", "g"), ("'x: [", "f"), ("task: 3", "f"), ("task: no", "f")],
    ids=["task", "group", "no name", "number", "boolean"],
)
def test_a_broken_file_keeps_its_fault_under_the_name_it_probably_has(tmp_path: Path, text: str, name: str) -> None:
    write_files(tmp_path, {"f.yaml": text})
    scan = scan_file(tmp_path / "f.yaml")
    assert scan.name == name
    assert str(scan.problem).startswith(f"{tmp_path / 'f.yaml'}:")


def test_yaml_files_are_found_at_any_depth_in_a_fixed_order_hidden_folders_left_out(tmp_path: Path) -> None:
    write_files(tmp_path, dict.fromkeys(["b.yaml", "a/z.yaml", "a/b/c.yaml", ".git/x.yaml", "n.yml", "t.txt"], ""))
    assert [file.relative_to(tmp_path).as_posix() for file in yaml_files(tmp_path)] == [
        "b.yaml",
        "a/z.yaml",
        "a/b/c.yaml",
    ]


def test_what_a_build_leaves_and_runs_and_environments_hold_no_task_files(tmp_path: Path) -> None:
    left = ("build/lib", "dist", "own.egg-info", ".venv", "node_modules", "env", "runs/m/1")
    files = {"pyproject.toml": "", "own/t.yaml": "", "own/build/b.yaml": "", **{f"{name}/t.yaml": "" for name in left}}
    write_files(tmp_path, {**files, "env/pyvenv.cfg": "", "runs/m/1/run.json": "{}"})

    assert list(yaml_files(tmp_path)) == [tmp_path / "own/t.yaml", tmp_path / "own/build/b.yaml"]
