"""Pointer files of git-lfs, in place of files that are not fetched."""

from __future__ import annotations

_BEGINNING = b"version https://git-lfs.github.com/"
MAX_BYTES = 1024
"""The maximum size of a pointer."""
POINTER_FAULT = "is a git-lfs pointer; fetch the file with `git lfs pull`"
"""The message about a pointer, after its path."""


def is_pointer(data: bytes) -> bool:
    """Returns True if the bytes of a file are a pointer."""
    return len(data) <= MAX_BYTES and data.startswith(_BEGINNING)
