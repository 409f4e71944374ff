"""Detects git-lfs pointers, which replace files that have not been fetched."""

from __future__ import annotations

_BEGINNING = b"version https://git-lfs.github.com/"
MAX_BYTES = 1024
"""Maximum size of a pointer in bytes."""
POINTER_FAULT = "is a git-lfs pointer; fetch the file with `git lfs pull`"
"""The message about a pointer, which follows the path of the file."""


def is_pointer(data: bytes) -> bool:
    """Returns True if the content of a file is a pointer."""
    return len(data) <= MAX_BYTES and data.startswith(_BEGINNING)
