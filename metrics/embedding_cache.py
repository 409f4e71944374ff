"""Caches embeddings of fixed data, so that each embedding is computed once per machine.

A file contains one table of numbers. If a file is damaged or unreadable, its table is
computed again. If the cache cannot be written, the results are the same but take
longer. If there are too many files, the least recently used are deleted.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.errors import StorageError
from mmeval.system import own_cache, write_atomic

if TYPE_CHECKING:
    from mmeval.metrics.models import Vectors

log = logging.getLogger(__name__)

MOST_FILES = 1000
"""Maximum number of files. Each file takes a few hundred kilobytes."""


def cached_vectors(
    key: str,
    count: int,
    make: Callable[[], Vectors],
) -> Vectors:
    """Returns the table of a key from the cache, or computes and stores it.

    The table has ``count`` rows. ``key`` must contain everything on which the table
    depends.
    """
    import numpy as np

    try:
        folder = own_cache() / "embeddings"
    except StorageError:  # there is no home folder
        return make()
    path = folder / f"{key}.npy"
    cached = _read(path, count)
    if cached is not None:
        return cached
    vectors = make()
    file = io.BytesIO()
    np.save(file, vectors, allow_pickle=False)
    try:
        write_atomic(path, file.getvalue())
        files = sorted(
            folder.glob("*.npy"), key=lambda file: file.stat().st_mtime, reverse=True
        )
        for old in files[MOST_FILES:]:
            old.unlink(missing_ok=True)
    except (StorageError, OSError) as error:
        log.info("embeddings are not cached: %s", error)
    return vectors


def _read(path: Path, count: int) -> Vectors | None:
    """Reads the table in a file. Returns None if the file is missing or damaged."""
    import numpy as np

    with contextlib.suppress(OSError, ValueError, EOFError):
        vectors: Vectors = np.load(path, allow_pickle=False)
        if vectors.ndim == 2 and len(vectors) == count:
            with contextlib.suppress(OSError):
                path.touch()  # marks it as recently used
            return vectors
    return None
