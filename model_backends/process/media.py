"""Reads a medium that a worker has written: a plain file in the folder of its batch,
once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmeval.content import Media


class MediaFaultError(Exception):
    """What is wrong with a part of an answer."""


def written(row: Mapping[str, Any], out: Path, used: set[Path]) -> bytes:
    """The bytes of a medium that a part names, read at once. ``out`` has no link in its
    path.

    Raises MediaFaultError for a file that is missing, lies outside of ``out``, is a
    link or no plain file, or is in ``used`` already, where it is added: two answers
    that name one file would share its last content. Raises ContentError for one that is
    too large.
    """
    named = row.get("path")
    if not isinstance(named, str) or "\0" in named:
        raise MediaFaultError("a medium has no path")
    file = Path(os.path.normpath(out / named))
    if not file.is_relative_to(out):
        raise MediaFaultError(
            f"the medium {named} lies outside of the folder of the batch"
        )
    if Path(os.path.realpath(file)) != file:
        raise MediaFaultError(f"the medium {named} is a link")
    if not file.is_file():
        raise MediaFaultError(f"the medium {named} is not there")
    if file in used:
        raise MediaFaultError(
            f"the medium {named} belongs to an earlier part; write each into a file "
            "of its own"
        )
    used.add(file)
    try:
        return Media.from_path(file).read()
    finally:
        file.unlink(missing_ok=True)
