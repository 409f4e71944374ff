"""The embedded model ``tiny``, which is built in a second and kept in the user's cache.

The model only tests an installation. Its scores are meaningless.
"""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from mmeval.errors import StorageError
from mmeval.model_backends.hf.embedded.builder import build
from mmeval.system import own_cache

VERSION = 4
"""The version of the builder. Increase it when the builder writes different bytes."""

log = logging.getLogger(__name__)


def tiny_model(cache: Path | None = None) -> Path:
    """Returns the folder of the embedded model.

    The model is built if it is missing or has an older version. Several processes may
    build it at the same time.

    ``cache`` is the user's cache of mmeval by default. Raises StorageError if it cannot
    be written, and MissingExtraError without torch or transformers.
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
                    if not folder.is_dir():  # otherwise another process was faster
                        raise
    except OSError as error:
        raise StorageError(
            f"{root}: cannot write the model tiny here "
            f"({error.strerror or error}); free space, or set MMEVAL_CACHE_DIR to a "
            "writable folder"
        ) from None
    return folder
