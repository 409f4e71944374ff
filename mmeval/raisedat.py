"""Where an exception was raised, for the message that a run keeps of a plugin that failed."""

from __future__ import annotations

import traceback
from pathlib import Path


def raised_at(error: BaseException, caller: str) -> str:
    """`` (adapter.py:31)``; empty where the plugin's own code is not to blame: the error comes from ``caller``, the
    file that calls the plugin, or has no traceback any more."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line = frames[-1] if frames else (caller, 0)
    return "" if file == caller else f" ({Path(file).name}:{line})"
