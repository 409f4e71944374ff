"""Embeddings of data that does not change, kept in mmeval's cache: each is made once on a machine.

A file holds one table of numbers behind its own digest. A damaged one is made again, and so is one that cannot be read;
a cache that cannot be written costs time and nothing else. The files used longest ago go when there are too many.
"""

from __future__ import annotations

import contextlib
import hashlib
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
"""Of some hundred kilobytes each."""
_DIGEST_BYTES = 32


def cached_vectors(key: str, count: int, make: Callable[[], Vectors]) -> Vectors:
    """The table of a key, with ``count`` rows: read from the cache, else made and kept there. ``key`` names all that
    the table depends on."""
    try:
        folder = own_cache() / "embeddings"
    except StorageError:  # nobody's home
        return make()
    path = folder / f"{key}.vectors"
    kept = _read(path, count)
    if kept is not None:
        return kept
    made = make()
    try:
        write_atomic(path, _packed(made))
        _drop_oldest(folder)
    except (StorageError, OSError) as error:
        log.info("embeddings are not kept: %s", error)
    return made


def _packed(vectors: Vectors) -> bytes:
    import numpy as np

    file = io.BytesIO()
    np.save(file, vectors, allow_pickle=False)
    return hashlib.sha256(file.getvalue()).digest() + file.getvalue()


def _read(path: Path, count: int) -> Vectors | None:
    """None for a file that is not there or not as it was written."""
    import numpy as np

    with contextlib.suppress(OSError, ValueError, EOFError):
        data = path.read_bytes()
        if hashlib.sha256(data[_DIGEST_BYTES:]).digest() == data[:_DIGEST_BYTES]:
            vectors: Vectors = np.load(io.BytesIO(data[_DIGEST_BYTES:]), allow_pickle=False)
            if vectors.ndim == 2 and len(vectors) == count:
                with contextlib.suppress(OSError):
                    path.touch()  # used now
                return vectors
    return None


def _drop_oldest(folder: Path) -> None:
    kept = sorted(folder.glob("*.vectors"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[MOST_FILES:]:
        path.unlink(missing_ok=True)
