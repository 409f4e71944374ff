"""The embedded model ``tiny``, made here in a second and kept in the user's cache.
It tests an installation; its scores mean nothing."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.model_backends.hf.embedded.builder import build
from mmeval.system import own_cache

VERSION = 3
"""Raised whenever the builder would write other bytes."""

log = logging.getLogger(__name__)


def tiny_model(cache: Path | None = None) -> Path:
    """The folder of the embedded model, which answers with text, pictures, sounds and
    code. It is made when it is missing or of an older version of its builder; several
    processes may do so at once.

    ``cache`` is the user's cache of mmeval unless given. Raises StorageError when
    nothing can be written there, MissingExtraError without torch or transformers.
    """
    log.warning(
        "pretrained=tiny tests the installation: it answers with noise, and its "
        "scores mean nothing"
    )
    root = (cache or own_cache()) / "models"
    folder = root / f"tiny-{VERSION}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            # whole or not at all
            prefix = f".{folder.name}-"
            with tempfile.TemporaryDirectory(prefix=prefix, dir=root) as scratch:
                made = Path(scratch) / "made"
                build(made)
                try:
                    made.rename(folder)
                except OSError:
                    if not folder.is_dir():  # else another process was faster
                        raise
    except OSError as error:
        raise StorageError(
            f"{root}: the model tiny cannot be kept there "
            f"({error.strerror or error}); free space, or name a folder "
            "that can be written with MMEVAL_CACHE_DIR"
        ) from None
    return folder
