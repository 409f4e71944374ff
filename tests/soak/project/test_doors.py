"""The doors of packages offer the names of a reviewed list; plugins, templates and
pages import from doors alone. Each name has a docstring and types, and is on a page of
the reference."""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from scripts.site.reference import (
    WHOLE_MODULES,
    description_of,
    doors_on,
    public_names,
)

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


def public_paths() -> list[tuple[str, str]]:
    """Each public name, with its door before it."""
    paths: list[tuple[str, str]] = []
    for door in (*DOORS, *WHOLE_MODULES):
        for name in public_names(door):
            paths.append((door, name))
    return paths


def test_every_public_name_has_a_docstring() -> None:
    paths = public_paths()
    undescribed = [path for path in paths if not description_of(*path)]
    assert len(paths) > 300
    assert undescribed == []


def test_every_public_function_has_types() -> None:
    untyped: list[tuple[str, str]] = []
    for door, name in public_paths():
        function = getattr(import_module(door), name)
        if inspect.isfunction(function):
            parameters = inspect.signature(function).parameters
            missing = {*parameters, "return"} - {*function.__annotations__}
            untyped += [(f"{door}.{name}", parameter) for parameter in missing]
    assert untyped == []


def test_each_door_is_on_one_page_of_the_reference() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    shown = [door for page in pages for door in doors_on(page.read_text("utf-8"))]
    assert sorted(shown) == sorted((*DOORS, *WHOLE_MODULES))


def test_the_reference_is_made_without_heavy_packages() -> None:
    program = (
        "import sys, scripts.site.reference as reference\n"
        "for door in sys.argv[1:]: list(reference.door_directives(door))\n"
        "print(*{'torch', 'transformers', 'ray', 'openai'} & sys.modules.keys())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *DOORS, *WHOLE_MODULES],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.stderr) == ("\n", "")


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
