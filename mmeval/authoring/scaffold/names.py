"""Makes the names of a new package: its distribution and its module."""

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
"""The kinds that are installable packages."""
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
"""Names of folders and files that are often next to the module of a package."""
_LONGEST = 100
"""The maximum number of characters of a name. It is part of file names, which are
limited to 255 bytes."""


class PackageName(NamedTuple):
    """The names of a package. ``name`` is the distribution (``her-bench``), and
    ``module`` is the import name (``her_bench``)."""

    name: str
    module: str

    @property
    def class_name(self) -> str:
        """The module's name as a class name: ``HerBench``."""
        return "".join(word.capitalize() for word in self.module.split("_"))


def package_name(kind: PackageKind, written: str) -> PackageName:
    """Returns a package's names. Raises UsageError for a name that is invalid or in
    use."""
    name = PackageName(written, re.sub(r"[-_.]+", "_", written).lower())
    module = name.module
    is_reserved = keyword.iskeyword(module) or module.startswith("_")
    is_valid = module.isidentifier() and not is_reserved
    if not is_valid or not _DISTRIBUTION.fullmatch(written):
        raise UsageError(
            f"{written!r} cannot be the name of a package: use letters, digits, - and "
            f"_, begin with a letter, and avoid Python keywords{_suggested(written)}"
        )
    if len(written) > _LONGEST:
        raise UsageError(
            f"the name of a package may have at most {_LONGEST} characters, not "
            f"{len(written):,}"
        )
    # a worker is not installed, and often has the name of its model's package
    if kind == "worker":
        return name
    owner = _owner_of(name)
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
                f"{module!r} is already a plugin of {owner} ({group}); choose another "
                "name"
            )
    if kind == "benchmark":
        from mmeval.task.index import TaskIndex

        if module in TaskIndex().names():
            raise UsageError(
                f"{module!r} is already a task, group or tag; choose another name"
            )
    return name


def _suggested(written: str) -> str:
    # accents are removed: é becomes e
    decomposed = unicodedata.normalize("NFKD", written.casefold())
    plain = decomposed.encode("ascii", "ignore").decode()
    joined = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")
    near = joined.lstrip("0123456789_")[:_LONGEST]
    if keyword.iskeyword(near):
        near = f"{near}_bench"
    return f'; did you mean "{near}"?' if near and near != written else ""


def _owner_of(name: PackageName) -> str:
    """Returns what already has the name, or an empty string if the name is free."""
    if name.module in _FOLDERS:
        return "a common name of a folder or file in packages"
    if name.module in sys.stdlib_module_names:
        return "a module of Python"
    try:
        version = distribution(name.name).version
    except PackageNotFoundError:
        pass
    else:
        return f"already installed ({name.name} {version})"
    try:
        is_module = importlib.util.find_spec(name.module) is not None
    except (ImportError, ValueError):  # a broken module
        is_module = True
    return "the name of an installed module" if is_module else ""
