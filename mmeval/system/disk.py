"""Disks: what is free where something will be written, whether or not its folder is there yet."""

from __future__ import annotations

import shutil
from pathlib import Path


def free_bytes(path: Path) -> int:
    """What the disk of a folder has free. Raises OSError where it cannot be asked."""
    return shutil.disk_usage(existing(path)).free


def existing(path: Path) -> Path:
    """The folder itself, or the nearest one around it that is there."""
    return next(folder for folder in (path.absolute(), *path.absolute().parents) if folder.is_dir())
