"""The embedded model ``tiny``, made here in seconds and kept in the user's cache.
It tests an installation; its scores mean nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from mmeval.errors import MmevalError, StorageError
from mmeval.model_backends.hf.embedded.builder import build
from mmeval.system import FreshContext, own_cache

VERSION = 1
"""Raised whenever the builder would write other bytes."""

_MANIFEST = "mmeval_tiny.json"
"""Lists every other file of the folder with its digest; written last, so that a folder without it is incomplete."""

log = logging.getLogger(__name__)


def tiny_model(cache: Path | None = None) -> Path:
    """The folder of the embedded model, which answers with text and pictures.
    It is made when it is missing, damaged, or of an older version of its builder; several processes may do so at once.

    ``cache`` is the user's cache of mmeval unless given. Raises StorageError when nothing can be written there,
    MissingExtraError without torch or transformers.
    """
    log.warning("pretrained=tiny is plumbing: a model of noise that is made on this machine; its scores mean nothing")
    root = (cache or own_cache()) / "models"
    folder = root / f"tiny-{VERSION}"
    if not _whole(folder):
        log.info("making the model tiny (some seconds, once)")
        try:
            _make(root, folder)
        except OSError as error:
            raise StorageError(
                f"{root}: the model tiny cannot be kept there ({error.strerror or error}); free space, or name a "
                "folder that can be written with MMEVAL_CACHE_DIR"
            ) from None
    return folder


def _make(root: Path, folder: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=root) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        _build_apart(made)
        manifest = {path.name: _digest(path) for path in sorted(made.iterdir())}
        (made / _MANIFEST).write_text(json.dumps(manifest, indent=1))
        if not _whole(folder):  # another process may have been faster
            _replace(folder, made)


def _build_apart(folder: Path) -> None:
    """Build the model in its own process, which keeps torch's state here unchanged."""
    try:
        with ProcessPoolExecutor(1, mp_context=FreshContext()) as pool:
            pool.submit(build, folder).result()
    except BrokenProcessPool:
        raise MmevalError("the process that makes the model tiny died; is there a gigabyte of free memory?") from None


def _replace(folder: Path, made: Path) -> None:
    """Replace a folder, if there is one."""
    if folder.exists():
        aside = made.with_name("damaged")
        folder.rename(aside)
        shutil.rmtree(aside, ignore_errors=True)
    try:
        made.rename(folder)
    except OSError:
        if not _whole(folder):  # else another process has put the same there
            raise


def _whole(folder: Path) -> bool:
    """Whether every file has the written bytes (a few milliseconds for 2 MB)."""
    try:
        manifest: dict[str, str] = json.loads((folder / _MANIFEST).read_text("utf-8"))
        return bool(manifest) and all(_digest(folder / name) == digest for name, digest in manifest.items())
    except (OSError, ValueError, AttributeError):
        return False


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
