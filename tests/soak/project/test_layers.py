"""The shape of the tree: small folders, and no circle of imports. `.importlinter` says what may import what."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[3]
TREES = ("mmeval", "tasks", "metrics", "model_backends")
MAX_MODULES = 15


def modules() -> dict[str, Path]:
    """The file of each module by its name; a package is named as it is imported."""
    files = [file.relative_to(ROOT) for tree in TREES for file in sorted((ROOT / tree).rglob("*.py"))]
    return {".".join(part for part in named(file) if part != "__init__"): ROOT / file for file in files}


def named(file: Path) -> tuple[str, ...]:
    return (*(() if file.parts[0] == "mmeval" else ("mmeval",)), *file.with_suffix("").parts)


def imported(file: Path) -> Iterator[str]:
    """What a module imports anywhere in it: at its head, within functions and for the checker of types alone."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_a_folder_has_at_most_fifteen_modules() -> None:
    folders = Counter(str(file.parent.relative_to(ROOT)) for file in modules().values())

    assert {folder: count for folder, count in folders.items() if count > MAX_MODULES} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    files = modules()
    graph = {
        module: {name if name in files else name.rpartition(".")[0] for name in imported(file)} - {module}
        for module, file in files.items()
    }

    try:
        TopologicalSorter(graph).prepare()
        circle = []
    except CycleError as error:
        circle = error.args[1]
    assert circle == []
