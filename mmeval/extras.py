"""The one way to import an optional package: when it is absent, the message is the command that installs it."""

from __future__ import annotations

import importlib
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
