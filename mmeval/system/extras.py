"""Imports optional packages, or raises an error with the command to install them."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from typing import Any

from mmeval.errors import MissingExtraError


def absent(needs: Iterable[str]) -> Iterator[MissingExtraError]:
    """Yields an error for each requirement, given as ``module:extra``, with a package
    that is not installed.

    Nothing is imported.
    """
    for name in needs:
        module, _, extra = name.partition(":")
        package = module.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            yield MissingExtraError(package, extra)


def need(module: str, extra: str) -> Any:
    """Import a module of an optional extra. Raises MissingExtraError with the command.

    Returns ``Any``, because optional packages are not installed where types are
    checked.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(module.partition(".")[0], extra) from None
