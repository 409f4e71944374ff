"""Faults of keys of a task file that name plugins and their options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mmeval.errors import (
    AmbiguousNameError,
    PluginError,
    UnknownNameError,
    UsageError,
    did_you_mean,
)
from mmeval.system.arguments import fault_of, hint_of
from mmeval.system.yaml_document import KeyPath
from mmeval.task.file import TaskFile

T = TypeVar("T")


class KeyFaultsError(UsageError):
    """One or more faults, each at its key."""

    def __init__(self, *problems: tuple[KeyPath, str]) -> None:
        super().__init__("; ".join(message for _, message in problems))
        self.problems = problems


def plugin_at(load: Callable[[str], T], name: str, path: KeyPath) -> T:
    """Load the plugin that a key names. Raises KeyFaultsError for one that is unknown,
    ambiguous or broken."""
    try:
        return load(name)
    except (UnknownNameError, AmbiguousNameError, PluginError) as error:
        raise KeyFaultsError((path, str(error))) from None


def name_path(file: TaskFile, path: KeyPath) -> KeyPath:
    """The path of the name in ``key: name`` and in ``key: {name: ..., ...}``."""
    return (*path, "name") if (*path, "name") in file.document.places else path


def check_options(
    function: Callable[..., Any], options: Mapping[str, Any], path: KeyPath
) -> None:
    """Refuse options that a function does not have. Raises KeyFaultsError.
    Its first parameter is not an option; options without default are required."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL]
    faults = [
        ((*path, name), f"unknown key{did_you_mean(name, known)}")
        for name in options
        if name not in known
    ]
    missing = [
        p.name
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in options
    ]
    faults += [(path, f"the option {name!r} is missing") for name in missing]
    if faults:
        raise KeyFaultsError(*faults)


def check_values(
    function: Callable[..., Any], options: Mapping[str, Any], path: KeyPath
) -> None:
    """Refuse options whose values do not fit annotations. Raises KeyFaultsError."""
    found = [
        ((*path, name), fault_of(value, hint_of(function, name)))
        for name, value in options.items()
    ]
    if faults := [(place, fault) for place, fault in found if fault]:
        raise KeyFaultsError(*faults)
