"""Where an exception was raised, for the message that a run keeps of a plugin that failed."""

from __future__ import annotations

import traceback
from pathlib import Path


def raised_at(error: BaseException, *callers: str) -> str:
    """`` (adapter.py:31)``; empty where the plugin's own code is not to blame: the error comes from one of
    ``callers``, the files that call the plugin, or has no traceback any more."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    file, line = frames[-1] if frames else ("", 0)
    return "" if not file or file in callers else f" ({Path(file).name}:{line})"
