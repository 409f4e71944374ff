"""Doors of packages: the public names of a package, each loaded from its module when it is first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def door(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: gives a name of its ``__all__`` from the module that the block under
    ``TYPE_CHECKING`` in its ``__init__.py`` imports it from, so that each name and its module stand there once.

    It raises AttributeError for any other name.
    """
    module = sys.modules[package]

    @cache
    def homes() -> dict[str, str]:
        import ast

        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
        return {alias.name: str(node.module) for node in imports for alias in node.names}

    def load(name: str) -> Any:
        if name not in module.__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(module, name, value)
        return value

    return load
