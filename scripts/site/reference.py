"""The public interface on the site: each name of a door, with its signature and its
docstring, for Sphinx's autodoc.

A page of ``docs/reference`` names its doors by headings, such as ``## `mmeval.media```.
The names are added below the heading.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from sphinx.pycode import ModuleAnalyzer

from mmeval.doors import modules_of

WHOLE_MODULES = (
    "mmeval.errors",
    "mmeval.plugins",
    "mmeval.system.secrets",
    "mmeval.system.wording",
)
"""Public modules that are not packages: every name without an underscore is public."""

_DOOR_HEADING = re.compile(r"^## `(mmeval[\w.]*)`$", re.MULTILINE)
_MAX_VALUE = 70


def doors_on(page: str) -> list[str]:
    """Returns the doors that a page names by headings."""
    return _DOOR_HEADING.findall(page)


def with_reference(page: str) -> str:
    """Returns the page with the names of each door below its heading."""

    def section(heading: re.Match[str]) -> str:
        directives = "\n".join(door_directives(heading[1]))
        return f"{heading[0]}\n\n```{{eval-rst}}\n{directives}\n```\n"

    return _DOOR_HEADING.sub(section, page)


def public_names(door: str) -> list[str]:
    """Returns the names of a door, in the order of its ``__all__`` or of its module."""
    module = import_module(door)
    if door not in WHOLE_MODULES:
        return list(module.__all__)
    names: list[str] = []
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == door
        is_callable = inspect.isclass(value) or inspect.isfunction(value)
        is_constant = name.isupper() and len(name) > 1
        if not name.startswith("_") and ((is_own and is_callable) or is_constant):
            names.append(name)
    return names


def description_of(door: str, name: str) -> str:
    """Returns the docstring of a public name, or an empty string.

    The docstring of a constant or of a type alias is the string below its assignment.
    """
    value = getattr(import_module(door), name)
    if inspect.isfunction(value):
        return inspect.getdoc(value) or ""
    if inspect.isclass(value):
        # getdoc would return the docstring of a base class
        return inspect.cleandoc(vars(value).get("__doc__") or "")
    source = modules_of(door).get(name, door)
    comments = ModuleAnalyzer.for_module(source).find_attr_docs()
    return "\n".join(comments.get(("", name), ())).strip()


def door_directives(door: str) -> Iterator[str]:
    """Yields reStructuredText that documents all names of a door."""
    module = import_module(door)
    yield f".. py:module:: {door}"
    yield ""
    for paragraph in inspect.cleandoc(module.__doc__ or "").split("\n\n"):
        yield _as_written(paragraph)
        yield ""
    for name in public_names(door):
        yield from _name_directive(module, name)
        yield ""


def _as_written(paragraph: str) -> str:
    """Returns a table or a tree as a literal block, and any other paragraph as it
    is."""
    if not paragraph.startswith("|") and "├──" not in paragraph:
        return paragraph
    return f"::\n\n{textwrap.indent(paragraph, '    ')}"


def _name_directive(module: ModuleType, name: str) -> Iterator[str]:
    path = f"{module.__name__}.{name}"
    value = getattr(module, name)
    if inspect.isfunction(value):
        yield f".. autofunction:: {path}"
    elif inspect.isclass(value) and issubclass(value, BaseException):
        yield f".. autoexception:: {path}"
        yield "   :members:"
        yield "   :show-inheritance:"
    elif inspect.isclass(value):
        yield f".. autoclass:: {path}"
        yield "   :members:"
        yield "   :undoc-members:"
    else:
        yield f".. py:data:: {path}"
        written = _written(value)
        if written:
            yield f"   :value: {written}"
        yield ""
        for line in description_of(module.__name__, name).splitlines():
            yield f"   {line}"


def _written(value: Any) -> str:
    """Returns a constant's value, or an empty string if it is long or an object."""
    written = repr(value)
    if len(written) > _MAX_VALUE or " object at 0x" in written:
        return ""
    return written


class _HiddenDefault:
    """Stands for a default that a signature does not show, as it is an object."""

    def __repr__(self) -> str:
        return "..."


def class_signature(
    _app: Any, _what: str, _name: str, value: object, *_others: Any
) -> tuple[str, None] | None:
    """Returns the signature of a protocol or a data class; None keeps that of others.

    There are no objects of a protocol, so its signature is empty. That of a data class
    has no types, because its fields are listed below with theirs.
    """
    if getattr(value, "_is_protocol", False):
        return "", None
    if not (inspect.isclass(value) and is_dataclass(value)):
        return None
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(value).parameters.values():
        default = parameter.default
        if repr(default).startswith("<") and default is not parameter.empty:
            default = _HiddenDefault()
        shown.append(parameter.replace(annotation=parameter.empty, default=default))
    return str(inspect.Signature(shown)), None
