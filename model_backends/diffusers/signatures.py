"""Reads how a pipeline is called from its source, without importing torch."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mmeval.errors import MissingExtraError, UsageError


@dataclass(frozen=True)
class Signature:
    """The call of a pipeline.

    ``defaults`` has the parameters that may be left out. The value of one that the
    source does not spell out as a literal is None. ``returns`` names the fields of what
    the call returns, such as ``images``; it is empty if the source does not name them.
    """

    class_name: str
    required: frozenset[str] = frozenset()
    defaults: dict[str, object] | None = None
    returns: frozenset[str] = frozenset()

    @property
    def parameters(self) -> frozenset[str]:
        return self.required | (self.defaults or {}).keys()

    def default(self, name: str) -> object:
        return (self.defaults or {}).get(name)


def signature_of(class_name: str, own_code: Path | None, where: str) -> Signature:
    """Returns the call of a pipeline's class.

    ``own_code`` is the file of a class that comes with the pipeline. Raises
    MissingExtraError without diffusers, and UsageError if diffusers has no such class.
    """
    names = [class_name]
    while names:
        name = names.pop(0)
        definition = _definition(name, own_code)
        if definition is None:
            continue
        call = _call_of(definition)
        if call is not None:
            return _signature(class_name, call)
        names += [_last_name(base) for base in definition.bases]
    raise UsageError(
        f"pretrained={where}: the installed diffusers has no {class_name}. Try a newer "
        "version: pip install -U diffusers"
    )


def _definition(name: str, own_code: Path | None) -> ast.ClassDef | None:
    files = [own_code] if own_code is not None and own_code.is_file() else []
    header = re.compile(rf"^class {re.escape(name)}\b", re.MULTILINE)
    for file in (*files, *_library_files()):
        text = file.read_text("utf-8", "replace")
        if not header.search(text):
            continue
        try:
            statements = ast.parse(text).body
        except SyntaxError:
            continue
        for statement in statements:
            if isinstance(statement, ast.ClassDef) and statement.name == name:
                return statement
    return None


@cache
def _library_files() -> tuple[Path, ...]:
    # find_spec does not import the package, which would import torch.
    spec = importlib.util.find_spec("diffusers")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtraError("diffusers", "diffusers")
    folder = Path(spec.submodule_search_locations[0]) / "pipelines"
    return tuple(sorted(folder.rglob("pipeline_*.py")))


def _call_of(definition: ast.ClassDef) -> ast.FunctionDef | None:
    for statement in definition.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__call__":
            return statement
    return None


def _last_name(base: ast.expr) -> str:
    return ast.unparse(base).rpartition(".")[-1]


def _signature(class_name: str, call: ast.FunctionDef) -> Signature:
    arguments = call.args
    positional = [argument.arg for argument in arguments.args[1:]]
    first_default = len(positional) - len(arguments.defaults)
    required = set(positional[:first_default])
    defaults: dict[str, object] = {}
    for name, value in zip(positional[first_default:], arguments.defaults, strict=True):
        defaults[name] = _literal(value)
    for argument, keyword_value in zip(
        arguments.kwonlyargs, arguments.kw_defaults, strict=True
    ):
        if keyword_value is None:
            required.add(argument.arg)
        else:
            defaults[argument.arg] = _literal(keyword_value)
    return Signature(
        class_name, frozenset(required), defaults, frozenset(_returned_fields(call))
    )


def _literal(value: ast.expr) -> object:
    try:
        literal: object = ast.literal_eval(value)
    except ValueError:
        return None
    return literal


def _returned_fields(call: ast.FunctionDef) -> Iterator[str]:
    for node in ast.walk(call):
        if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Call):
            continue
        # Only a pipeline's own record: `return dict(...)` or `torch.cat(...)` of an
        # inner function is something else.
        if not _last_name(node.value.func).endswith("Output"):
            continue
        for keyword in node.value.keywords:
            if keyword.arg is not None:
                yield keyword.arg
