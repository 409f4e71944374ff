"""Reads the entries of tar files, plain or compressed, and counts their bytes."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from mmeval.decode.archives.stream import Bounded, Unpacked, unpacker
from mmeval.decode.limits import ArchiveLimits

_FILES = (tarfile.REGTYPE, tarfile.AREGTYPE)


def is_tar(file: BinaryIO) -> bool:
    file.seek(0)
    head = file.read(512)
    return unpacker(head) is not None or head[257:262] == b"ustar"


def tar_entries(file: BinaryIO, limits: ArchiveLimits) -> Iterator[tuple[str, BinaryIO | None]]:
    """Name and reader of every entry, None for a folder.
    Raises MediaLimitError, and what tarfile raises."""
    size = file.seek(0, os.SEEK_END)
    stream = Unpacked(file, limits)
    reader: Any = stream  # typeshed asks for more than read
    with tarfile.open(fileobj=reader, mode="r|", errors="strict") as archive:
        count = 0
        while True:
            stream.expect_header()
            entry = archive.next()
            if entry is None:
                break
            cast(Any, archive).members.clear()  # tarfile keeps every entry, in an attribute that typeshed leaves out
            count += 1
            limits.check_entries(count, packed=size)
            yield entry.name, _source(archive, entry, stream)
    stream.finish()
    if not count:
        raise ValueError("it has no entries")


def _source(archive: tarfile.TarFile, entry: tarfile.TarInfo, stream: Unpacked) -> BinaryIO | None:
    if entry.type == tarfile.DIRTYPE:
        return None
    if entry.type not in _FILES or entry.issparse():
        raise ValueError(f"the entry {entry.name[:80]!r} is neither a file nor a folder")
    if entry.size < 0:
        raise ValueError(f"the entry {entry.name[:80]!r} has {entry.size} bytes")
    stream.expect_content(entry.size)
    source = archive.extractfile(entry)
    assert source is not None  # it is a file
    return cast(BinaryIO, Bounded(source, entry.size))
