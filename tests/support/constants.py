"""The numbers that modules define, and tables of what they have to be."""

import ast
import inspect
import math
from collections.abc import Iterable
from types import ModuleType
from typing import Any


def documented(table: str) -> dict[str, dict[str, Any]]:
    """Numbers by name and module: a line ``module: NAME=value NAME=value``, values
    without spaces, as in Python."""
    rows = (line.split(": ") for line in table.strip().splitlines())
    found: dict[str, dict[str, Any]] = {}
    for module, numbers in rows:
        pairs = (number.split("=") for number in numbers.split())
        found.setdefault(module.strip(), {}).update(
            {name: eval(value, vars(math)) for name, value in pairs}
        )
    return found


def defined(
    modules: Iterable[ModuleType], left_out: Iterable[str]
) -> dict[str, dict[str, Any]]:
    return {
        module.__name__.rpartition(".")[2]: _own(module, set(left_out))
        for module in modules
    }


def _own(module: ModuleType, left_out: set[str]) -> dict[str, Any]:
    tops = [
        node
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
    ]
    targets = [
        target
        for node in tops
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    names = [
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name)
    ]
    return {
        name: vars(module)[name]
        for name in names
        if name.isupper() and name not in left_out
    }
