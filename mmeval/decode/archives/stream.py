"""Reads streams of an archive within their announced sizes and the limits."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any, BinaryIO

from mmeval.decode.limits import ArchiveLimits
from mmeval.errors import MediaLimitError

_BLOCK = 1 << 16
_UNPACKED_BLOCK = 1 << 20
_XZ_MEMORY = 2**27
"""Bytes; the strongest setting of xz takes half of it. A header may ask for four gigabytes."""
_MOST_HEADER = 1 << 20
"""Bytes that may be read between one file and the next: headers, and the names in them."""


class Bounded(io.RawIOBase):
    """Reads a stream that has to hold exactly ``size`` bytes. Raises ValueError."""

    def __init__(self, source: IO[bytes], size: int) -> None:
        self._source, self._left = source, size

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        data = self._source.read(min(len(room), self._left) if self._left else 1)
        if len(data) > self._left:
            raise ValueError("an entry holds more than it announces")
        if not data and self._left:
            raise ValueError(f"it is cut short, {self._left} bytes of an entry are missing")
        self._left -= len(data)
        room[: len(data)] = data
        return len(data)


def unpacker(head: bytes) -> Callable[[], Any] | None:
    """The maker of decompressors for a file that begins so; None if not compressed."""
    if head.startswith(b"\x1f\x8b\x08"):
        return _Gzip
    if head.startswith(b"BZh"):
        return bz2.BZ2Decompressor
    if head.startswith(b"\xfd7zXZ\0"):
        return lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY)
    return None


class _Gzip:
    """zlib's decompressor, used as the two others are."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(31)

    def decompress(self, data: bytes, most: int) -> bytes:
        return self._inner.decompress(self._inner.unconsumed_tail + data, most)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def needs_input(self) -> bool:
        return not self._inner.unconsumed_tail and not self._inner.eof


class Unpacked:
    """A file's bytes, decompressed if need be, within the limits and entries' sizes."""

    def __init__(self, file: BinaryIO, limits: ArchiveLimits) -> None:
        file.seek(0)
        self._new = unpacker(file.read(16))
        file.seek(0)
        self._file, self._limits = file, limits
        self._inner: Any = self._new() if self._new else None
        self._ready = bytearray()
        self._packed = self._count = 0
        self._allowed = _MOST_HEADER

    def expect_header(self) -> None:
        """Allow only headers up to the next content."""
        self._allowed = self._count + _MOST_HEADER

    def expect_content(self, size: int) -> None:
        """Allow the ``size`` bytes of the next entry. Raises MediaLimitError for too many."""
        most = self._limits.max_bytes
        if self._count + size > most:
            raise MediaLimitError(f"{self._count + size} bytes found, above the limit max_bytes = {most}")
        self._allowed = self._count + size + _MOST_HEADER

    def finish(self) -> None:
        """Read what follows the last entry, such as a checksum. Raises as ``read`` does."""
        self.expect_header()
        while self.read(_BLOCK):
            pass

    def read(self, size: int) -> bytes:
        """Read for tarfile. Raises MediaLimitError, ValueError, a decompressor's errors."""
        while len(self._ready) < size:
            block = self._next_block()
            if not block:
                break
            self._ready += block
        data = bytes(self._ready[:size])
        del self._ready[:size]
        self._count += len(data)
        if self._count > self._allowed:
            raise ValueError(f"more than {_MOST_HEADER} bytes stand between two entries")
        self._limits.check_unpacked(self._count, packed=self._packed)
        return data

    def _next_block(self) -> bytes:
        """More of the content; empty at its end."""
        if self._inner is None:
            return self._read_packed()
        while True:
            data = self._read_packed() if self._inner.needs_input else b""
            if self._inner.eof:
                data = self._inner.unused_data + data or self._read_packed()
                if not data.strip(b"\0"):
                    return b""
                self._inner = self._new() if self._new else None  # several streams, one after the other
            elif not data and self._inner.needs_input:
                raise ValueError("it is cut short")
            block: bytes = self._inner.decompress(data, _UNPACKED_BLOCK)
            if block:
                return block

    def _read_packed(self) -> bytes:
        data = self._file.read(_BLOCK)
        self._packed += len(data)
        return data
