"""Imports optional packages, or reports the command that installs them."""

from __future__ import annotations

import importlib
from typing import Any

from mmeval.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """Import an optional extra's module. Raises MissingExtraError with the command.
    Returns ``Any`` because optional packages are absent where types are checked."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(module.partition(".")[0], extra) from None
