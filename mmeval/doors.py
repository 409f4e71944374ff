"""Loads the public names of a package when they are first used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def door(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package, which loads the names of its ``__all__``.

    The imports under ``TYPE_CHECKING`` in its ``__init__.py`` name the module of each. AttributeError for other names.
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
