"""Names of a new package: of its distribution and of its module."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
import unicodedata
from importlib.metadata import PackageNotFoundError, distribution
from typing import Literal, NamedTuple, get_args

from mmeval import plugins
from mmeval.errors import UsageError

PackageKind = Literal["benchmark", "metric", "backend", "agent", "worker"]
KINDS: tuple[PackageKind, ...] = get_args(PackageKind)

_DISTRIBUTION = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?", re.ASCII)
_GROUPS: dict[PackageKind, plugins.PluginGroup] = {
    "benchmark": "mmeval.tasks",
    "metric": "mmeval.metrics",
    "backend": "mmeval.model_backends",
    "agent": "mmeval.model_backends",
}
PACKAGES = tuple(_GROUPS)
"""The kinds that are packages to install."""
_FOLDERS = {
    "test",
    "tests",
    "docs",
    "src",
    "build",
    "dist",
    "runs",
    "tasks",
    "setup",
    "conftest",
}
"""Names of folders and files that packages often have beside their module."""
_LONGEST = 100
"""Letters of a name, which is part of file names; file systems allow 255 bytes."""


class PackageName(NamedTuple):
    """``name`` is installed (``her-bench``), ``module`` is imported (``her_bench``)."""

    name: str
    module: str

    @property
    def class_name(self) -> str:
        """The module's name as a class name: ``HerBench``."""
        return "".join(word.capitalize() for word in self.module.split("_"))


def package_name(kind: PackageKind, written: str) -> PackageName:
    """Make a package's names. Raises UsageError for one that is invalid or in use."""
    found = PackageName(written, re.sub(r"[-_.]+", "_", written).lower())
    module = found.module
    is_reserved = keyword.iskeyword(module) or module.startswith("_")
    is_valid = module.isidentifier() and not is_reserved
    if not is_valid or not _DISTRIBUTION.fullmatch(written):
        raise UsageError(
            f"{written!r} cannot be the name of a package: it has letters, digits, - "
            "and _, begins with a letter, "
            f"and is not a word of Python{_suggested(written)}"
        )
    if len(written) > _LONGEST:
        raise UsageError(
            f"the name of a package has at most {_LONGEST} letters, this one "
            f"{len(written):,}"
        )
    # it is installed nowhere, and often has the name of its model's package
    if kind == "worker":
        return found
    owner = _taken(found)
    if owner:
        other = f"{written}{'_' if '_' in written else '-'}{kind}"
        raise UsageError(
            f"{written!r} is {owner}; choose another name, such as {other}"
        )
    group = _GROUPS[kind]
    for entry in plugins.entries(group):
        if entry.name == module:
            owner = plugins.distribution_of(entry)
            raise UsageError(
                f"{module!r} is a plugin of {owner} already ({group}); choose another "
                "name"
            )
    if kind == "benchmark":
        from mmeval.task.index import TaskIndex

        if module in TaskIndex().names():
            raise UsageError(
                f"{module!r} is a task, group or tag already; choose another name"
            )
    return found


def _suggested(written: str) -> str:
    # é is e
    decomposed = unicodedata.normalize("NFKD", written.casefold())
    plain = decomposed.encode("ascii", "ignore").decode()
    joined = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    near = joined.lstrip("0123456789_")[:_LONGEST]
    if keyword.iskeyword(near):
        near = f"{near}_bench"
    return f'; did you mean "{near}"?' if near and near != written else ""


def _taken(found: PackageName) -> str:
    """The owner of the name; empty if it is free."""
    if found.module in _FOLDERS:
        return "the name of something that packages have beside their module"
    if found.module in sys.stdlib_module_names:
        return "a module of Python's own"
    try:
        version = distribution(found.name).version
    except PackageNotFoundError:
        pass
    else:
        return f"installed already ({found.name} {version})"
    try:
        known = importlib.util.find_spec(found.module) is not None
    except (ImportError, ValueError):  # a module that is half there
        known = True
    return "the name of a module that can be imported here already" if known else ""
