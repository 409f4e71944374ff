"""Reads the entries of zip files, after a check of all of them against each other."""

from __future__ import annotations

import os
import stat
import struct
import zipfile
from collections.abc import Iterator, Sequence
from typing import BinaryIO, cast

from mmeval.decode.archives.stream import Bounded
from mmeval.decode.limits import ArchiveLimits
from mmeval.errors import MediaLimitError

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods that zipfile unpacks piece by piece."""
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
_LONGEST_COMMENT = 65535
_BLOCK = 1 << 20
_NAMED_ENTRY_BYTES = 300
"""Bytes of an entry in a directory on average; more is ballast."""


def is_zip(file: BinaryIO) -> bool:
    file.seek(0)
    return file.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def zip_entries(file: BinaryIO, limits: ArchiveLimits) -> Iterator[tuple[str, BinaryIO | None]]:
    """Name and reader of every entry, None for a folder.
    Raises MediaLimitError, and what zipfile raises."""
    _check_directory(file, limits)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        _check_entries(entries, limits, size=file.seek(0, os.SEEK_END))
        for entry in entries:
            if entry.is_dir():
                yield entry.filename, None
            else:
                with archive.open(entry) as source:
                    yield entry.filename, cast(BinaryIO, Bounded(source, entry.file_size))


def _check_directory(file: BinaryIO, limits: ArchiveLimits) -> None:
    """Refuse a too large directory before zipfile makes an object of each entry."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END.size - _LONGEST_COMMENT - _LOCATOR.size))
    tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > len(tail):
        raise ValueError("its directory is missing, so it is cut short")
    length, entries = _END.unpack_from(tail, at)[5], 0
    if at >= _LOCATOR.size and tail[at - _LOCATOR.size :].startswith(b"PK\x06\x07"):
        file.seek(min(size, _LOCATOR.unpack_from(tail, at - _LOCATOR.size)[2]))
        large = file.read(_END_64.size)
        if len(large) == _END_64.size and large.startswith(b"PK\x06\x06"):
            length = _END_64.unpack(large)[8]
    if length > limits.max_entries * _NAMED_ENTRY_BYTES:
        raise MediaLimitError(f"a directory of {length} bytes found, too long for max_entries = {limits.max_entries}")
    file.seek(max(0, size - length - _END_64.size - _LOCATOR.size - _END.size - _LONGEST_COMMENT))
    while block := file.read(_BLOCK):
        entries += block.count(b"PK\x01\x02")
        limits.check_entries(entries, packed=size)


def _check_entries(entries: Sequence[zipfile.ZipInfo], limits: ArchiveLimits, *, size: int) -> None:
    for entry in entries:
        _check_kind(entry)
    limits.check_unpacked(sum(entry.file_size for entry in entries), packed=size)
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise ValueError(f"the entry {entry.filename[:80]!r} overlaps another")
        end = entry.header_offset + 30 + entry.compress_size
    if end > size:
        raise ValueError("its entries go on behind its end")


def _check_kind(entry: zipfile.ZipInfo) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16) if entry.create_system == 3 else 0
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise ValueError(f"the entry {entry.filename[:80]!r} is a link or a device")
    if entry.flag_bits & 0x1:
        raise ValueError(f"the entry {entry.filename[:80]!r} is encrypted")
    if entry.compress_type not in _METHODS:
        raise ValueError(f"the entry {entry.filename[:80]!r} is packed by a method that is not unpacked")
    if entry.orig_filename != entry.filename:
        raise ValueError(f"the entry {entry.filename[:80]!r} has a name with control characters")
