"""Faults of task file keys that name plugins and their options."""

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
from mmeval.system.yaml_document import KeyPath, Problem
from mmeval.task.file import TaskFile

T = TypeVar("T")


class KeyFaultsError(UsageError):
    """One or more faults, each at its key."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("; ".join(message for _, message in problems))
        self.problems = problems


def plugin_at(
    load: Callable[[str], T],
    name: str,
    path: KeyPath,
) -> T:
    """Loads the plugin that a key names.

    Raises KeyFaultsError for an unknown, ambiguous or broken plugin.
    """
    try:
        return load(name)
    except (UnknownNameError, AmbiguousNameError, PluginError) as error:
        raise KeyFaultsError((path, str(error))) from None


def name_path(file: TaskFile, path: KeyPath) -> KeyPath:
    """Returns the path of the name in ``key: name`` or ``key: {name: ..., ...}``."""
    inner = (*path, "name")
    return inner if inner in file.document.places else path


def check_options(
    function: Callable[..., Any], options: Mapping[str, Any], path: KeyPath
) -> None:
    """Checks the names of a function's options.

    The function's first parameter is not an option. Raises KeyFaultsError for unknown
    options, and for missing options that have no default.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    option_names: list[str] = []
    missing: list[Problem] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            return
        if parameter.kind is parameter.VAR_POSITIONAL:
            continue
        name = parameter.name
        option_names.append(name)
        is_keyword = parameter.kind is parameter.KEYWORD_ONLY
        is_required = is_keyword and parameter.default is parameter.empty
        if is_required and name not in options:
            missing.append((path, f"the option {name!r} is missing"))
    faults: list[Problem] = []
    for name in options:
        if name not in option_names:
            faults.append(
                ((*path, name), f"unknown key{did_you_mean(name, option_names)}")
            )
    if faults or missing:
        raise KeyFaultsError(*faults, *missing)


def check_values(
    function: Callable[..., Any], options: Mapping[str, Any], path: KeyPath
) -> None:
    """Checks the values of a function's options against its annotations.

    Raises KeyFaultsError.
    """
    faults: list[Problem] = []
    for name, value in options.items():
        fault = fault_of(value, hint_of(function, name))
        if fault:
            faults.append(((*path, name), fault))
    if faults:
        raise KeyFaultsError(*faults)
