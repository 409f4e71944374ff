"""The embedded model ``tiny``, built in a second and kept in the user's cache. It tests
an installation; its scores mean nothing."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.model_backends.hf.embedded.builder import build
from mmeval.system import own_cache

VERSION = 3
"""Raised whenever the builder writes different bytes."""

log = logging.getLogger(__name__)


def tiny_model(cache: Path | None = None) -> Path:
    """The folder of the embedded model, which answers with text, pictures, sounds and
    code. It is built if it is missing or of an older version. Several processes may
    build it at once.

    ``cache`` is the user's cache of mmeval by default. Raises StorageError if it cannot
    be written, MissingExtraError without torch or transformers.
    """
    log.warning(
        "pretrained=tiny only tests the installation: its answers are noise, and its "
        "scores mean nothing"
    )
    root = (cache or own_cache()) / "models"
    folder = root / f"tiny-{VERSION}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        if not folder.is_dir():
            # renamed when complete, so that no process sees a partial model
            prefix = f".{folder.name}-"
            with tempfile.TemporaryDirectory(prefix=prefix, dir=root) as scratch:
                built = Path(scratch) / "made"
                build(built)
                try:
                    built.rename(folder)
                except OSError:
                    if not folder.is_dir():  # else another process was faster
                        raise
    except OSError as error:
        raise StorageError(
            f"{root}: the model tiny cannot be written there "
            f"({error.strerror or error}); free space, or name a writable folder with "
            "MMEVAL_CACHE_DIR"
        ) from None
    return folder
