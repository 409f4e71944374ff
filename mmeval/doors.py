"""Loads public names of packages lazily: each is loaded from its module when first
used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def modules_of(package: str) -> dict[str, str]:
    """Returns the module that defines each name of a package's ``__all__``.

    They are read from the block under ``TYPE_CHECKING`` in ``__init__.py``, so nothing
    is imported.
    """
    import ast

    init = Path(str(sys.modules[package].__file__))
    tree = ast.parse(init.read_text(encoding="utf-8"))
    module_of: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                module_of[alias.name] = str(node.module)
    return module_of


def door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Returns the ``__getattr__`` and the ``__dir__`` of a package. ``__getattr__``
    returns ``Any``, because each name has a different type.

    A name of ``__all__`` is loaded from the module from which the block under
    ``TYPE_CHECKING`` in ``__init__.py`` imports it. So each name and its module are
    stated only once. Any other name raises AttributeError.
    """
    module = sys.modules[package]
    modules = cache(lambda: modules_of(package))

    def load(name: str) -> Any:
        if name not in module.__all__:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(modules()[name]), name)
        setattr(module, name, value)
        return value

    return load, lambda: sorted({*vars(module), *module.__all__})
