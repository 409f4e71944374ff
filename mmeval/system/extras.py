"""The one way to import an optional package: when it is absent, the message is the command that installs it."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from mmeval.errors import MissingExtraError


def need(module: str, extra: str) -> Any:
    """Import a module of an optional extra. Raises MissingExtraError with the command to run.

    Returns ``Any`` because optional packages are absent where types are checked.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != module.partition(".")[0]:
            raise
        raise MissingExtraError(module.partition(".")[0], extra) from None


def need_installed(package: str, extra: str) -> None:
    """As :func:`need`, for what another process will import: it is looked for, and not imported here."""
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # somebody has put None in its place, as tests without a package do
        found = None
    if found is None:
        raise MissingExtraError(package, extra)
