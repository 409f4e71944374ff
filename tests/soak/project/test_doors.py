"""The doors of packages offer the names of a reviewed list; plugins, templates and
pages import from doors alone."""

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
DOORS: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("doors.json").read_text("utf-8")
)
"""The names of each door, which are the contract with third parties."""
WHOLE = {
    "mmeval.errors",
    "mmeval.system.secrets",
    "mmeval.system.wording",
    "mmeval.plugins",
    "mmeval.dataset.hub",
}
"""Modules that a plugin may import from as well."""
OURS = ("mmeval.tasks", "mmeval.metrics", "mmeval.model_backends")
WRITTEN = re.compile(r"^ *from (mmeval[\w.]*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)
"""An import on a page or in a template."""


def offered() -> dict[str, list[str]]:
    """``__all__`` of each package of mmeval that has one."""
    files = (
        file
        for file in sorted(ROOT.glob("mmeval/**/__init__.py"))
        if "\n__all__ = " in file.read_text("utf-8")
    )
    packages = (".".join(file.parent.relative_to(ROOT).parts) for file in files)
    return {package: list(import_module(package).__all__) for package in packages}


def test_the_doors_offer_what_was_reviewed_and_have_it() -> None:
    assert offered() == DOORS
    assert [
        (door, name)
        for door in DOORS
        for name in DOORS[door]
        if not hasattr(import_module(door), name)
    ] == []


def from_plugins() -> Iterator[tuple[Path, str, str]]:
    """Each name that our plugins import, with its file and its module; of ``import
    a.b`` the name is empty."""
    for file in (
        file
        for tree in OURS
        for file in sorted((ROOT / tree.removeprefix("mmeval.")).rglob("*.py"))
    ):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                yield from (
                    (file, str(node.module), alias.name) for alias in node.names
                )
            elif isinstance(node, ast.Import):
                yield from ((file, alias.name, "") for alias in node.names)


def from_texts() -> Iterator[tuple[Path, str, str]]:
    """The same of the templates of new plugins and of the pages."""
    for file in (
        file
        for pattern in ("mmeval/**/*.py.jinja", "docs/**/*.md", "*.md")
        for file in ROOT.glob(pattern)
    ):
        for module, names in WRITTEN.findall(file.read_text("utf-8")):
            yield from (
                (file, module, name) for name in re.findall(r"(\w+)(?: as \w+)?", names)
            )


@pytest.mark.parametrize(
    "imports", [from_plugins(), from_texts()], ids=["plugins", "templates and pages"]
)
def test_plugins_templates_and_pages_import_from_doors(
    imports: Iterator[tuple[Path, str, str]],
) -> None:
    core = [
        found
        for found in imports
        if re.match(r"mmeval\b", found[1]) and not found[1].startswith(OURS)
    ]
    assert len(core) > 40
    assert [
        f"{file.relative_to(ROOT)}: {name} of {module}"
        for file, module, name in core
        if name not in DOORS.get(module, ())
        and not {module, f"{module}.{name}"} & WHOLE
    ] == []
