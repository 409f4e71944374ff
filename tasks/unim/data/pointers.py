"""Pointers: the notes that a clone leaves in the place of files that git-lfs keeps."""

from __future__ import annotations

_BEGINNING = b"version https://git-lfs.github.com/"
MAX_BYTES = 1024
"""No pointer is larger."""
TOLD = "only says where git-lfs has the file; fetch it with `git lfs pull`"
"""What is said of one, behind its path."""


def is_pointer(data: bytes) -> bool:
    """Whether the bytes of a file are such a note."""
    return len(data) <= MAX_BYTES and data.startswith(_BEGINNING)
