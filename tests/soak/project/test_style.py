"""The house style, where a test can see it: names, subjects, the mirror of the trees,
no circle of imports.

`.importlinter` says what may import what."""

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TREES = ("mmeval", "tasks", "metrics", "model_backends", "scripts")
VAGUE = {"util", "utils", "helper", "helpers", "manager", "managers", "common", "misc"}
MAX_MODULES = 20
OF_A_FOLDER = {
    "test_answers.py",
    "test_constants.py",
    "test_damaged_data.py",
    "test_fixture.py",
    "test_parity.py",
    "test_pages.py",
    "test_parity_of_quality.py",
    "test_scripts.py",
    "test_switches.py",
    "test_tables.py",
    "test_task_files.py",
    "test_whole_data.py",
}
"""Tests whose subject is a whole folder: its YAML files and layout, its constants and
switches, agreement with released scorers, what its tasks make of bad answers, the data
of its authors."""


def modules() -> list[Path]:
    return [file for tree in TREES for file in sorted((ROOT / tree).rglob("*.py"))]


def where(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_every_module_names_its_subject_and_none_has_a_vague_name() -> None:
    assert [
        where(file)
        for file in modules()
        if not ast.get_docstring(ast.parse(file.read_text()))
    ] == []
    assert [
        where(file)
        for file in modules()
        if VAGUE & {file.stem, *file.relative_to(ROOT).parts}
    ] == []


@pytest.mark.parametrize("tree", TREES)
def test_a_test_stands_where_its_subject_stands(tree: str) -> None:
    root = ROOT / "tests" / ("soak" if tree == "scripts" else "")
    tests = [
        file
        for file in sorted((root / tree).rglob("test_*.py"))
        if file.name not in OF_A_FOLDER
    ]
    assert tests != []
    assert [
        where(file)
        for file in tests
        if not subject_of(file.relative_to(root)).is_file()
    ] == []


def subject_of(test: Path) -> Path:
    """The module that a test file is about: ``a/b/test_c.py`` tests ``a/b/c.py``."""
    name = test.name.removeprefix("test_")
    return ROOT / test.parent / ("__main__.py" if name == "main.py" else name)


def by_name() -> dict[str, Path]:
    """The file of each module by its name; a package is named as it is imported."""
    files = [
        file.relative_to(ROOT)
        for tree in TREES
        for file in sorted((ROOT / tree).rglob("*.py"))
    ]
    return {
        ".".join(part for part in named(file) if part != "__init__"): ROOT / file
        for file in files
    }


def named(file: Path) -> tuple[str, ...]:
    return (
        *(() if file.parts[0] == "mmeval" else ("mmeval",)),
        *file.with_suffix("").parts,
    )


def imported(file: Path) -> Iterator[str]:
    """What a module imports anywhere in it: at its head, within functions and for the
    checker of types alone."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_folder_has_at_most_twenty_modules() -> None:
    files = [*by_name().values(), *(ROOT / "benchmarks").rglob("*.py")]
    folders = Counter(
        str(file.parent.relative_to(ROOT))
        for file in files
        if file.name != "__init__.py"
    )
    assert {
        folder: count for folder, count in folders.items() if count > MAX_MODULES
    } == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    files = by_name()
    graph = {
        module: {
            name if name in files else name.rpartition(".")[0]
            for name in imported(file)
        }
        - {module}
        for module, file in files.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle
