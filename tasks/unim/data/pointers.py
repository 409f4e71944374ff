"""Pointers: the notes of git-lfs in place of files that are not fetched."""

from __future__ import annotations

_BEGINNING = b"version https://git-lfs.github.com/"
MAX_BYTES = 1024
"""The largest size of a pointer."""
TOLD = "only says where git-lfs has the file; fetch it with `git lfs pull`"
"""The message about one, after its path."""


def is_pointer(data: bytes) -> bool:
    """Whether the bytes of a file are a pointer."""
    return len(data) <= MAX_BYTES and data.startswith(_BEGINNING)
