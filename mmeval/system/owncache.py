"""The user's cache of mmeval: what can be made again, kept so that it need not be."""

from __future__ import annotations

import os
from pathlib import Path

from mmeval.errors import StorageError


def own_cache() -> Path:
    """``MMEVAL_CACHE_DIR``, else ``mmeval`` in the user's cache. Raises StorageError for a user without a home."""
    named = os.environ.get("MMEVAL_CACHE_DIR")
    try:
        if named:
            return Path(named).expanduser()
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mmeval"
    except RuntimeError:  # nobody's home
        raise StorageError("this user has no home folder; name one for caches with MMEVAL_CACHE_DIR") from None
