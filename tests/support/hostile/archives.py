"""Hostile archives: ``SMALL`` ones, which a unit test unpacks, and ``LARGE`` ones."""

import gzip
import io
import lzma
import struct
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping

Makers = Mapping[str, Callable[[], bytes]]
"""What makes the bytes of each file, by its name."""
_PLAIN = (("a/b.txt", b"words " * 50), ("c.bin", bytes(range(256))))


def small_zip() -> bytes:
    """An archive with which nothing is wrong."""
    return _zip(*_PLAIN)


def small_tar(packing: str = "") -> bytes:
    """An archive with which nothing is wrong, compressed or not."""
    return gzip.compress(_tar(*_PLAIN), mtime=0) if packing == "gz" else _tar(*_PLAIN)


def _zip(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method, compresslevel=9) as archive:
        warnings.simplefilter("ignore")  # of two files of one name
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def _tar(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _overlapping() -> bytes:
    """Two entries of the directory that name the same bytes."""
    data = _zip(("a", b"1" * 100), ("b", b"2" * 100))
    second = data.rindex(b"PK\x01\x02")
    return data[: second + 42] + bytes(4) + data[second + 46 :]


def _entry(at: int, new: bytes, *, first: int | None = None) -> bytes:
    """A zip whose entry has other bytes in the directory, and in its own header where ``first`` says where."""
    data = _zip(("a", b"1" * 1_000_000))
    place = data.rindex(b"PK\x01\x02") + at
    data = data[:place] + new + data[place + len(new) :]
    return data if first is None else data[:first] + new + data[first + len(new) :]


def _end(new: int, *, at: int = 16) -> bytes:
    """A zip whose end gives another place of the directory, or another size."""
    data = _zip(("a", b"1"))
    place = data.rindex(b"PK\x05\x06") + at
    return data[:place] + struct.pack("<L", new) + data[place + 4 :]


def _flood(count: int) -> bytes:
    one = b"PK\x01\x02" + bytes(24) + b"\x01\0" + bytes(16) + b"a"
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(one) * count, 30, 0)
    return b"PK\x03\x04" + bytes(26) + one * count + end


def _mode(mode: int) -> Callable[[], bytes]:
    def make() -> bytes:
        out, entry = io.BytesIO(), zipfile.ZipInfo("a")
        entry.create_system, entry.external_attr = 3, mode << 16
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(entry, "/etc/passwd")
        return out.getvalue()

    return make


def _xz_window() -> bytes:
    """A stream whose header asks for a window of four gigabytes."""
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    body = packer.compress(_tar(("a", b"1"))) + packer.flush()
    block = b"\x02\0\x21\x01\x28" + bytes(3)  # 0x28: 2^32 - 1
    header = b"\xfd7zXZ\0\0\x01" + struct.pack("<I", zlib.crc32(b"\0\x01"))
    return header + block + struct.pack("<I", zlib.crc32(block)) + body + bytes(32)


def _header(kind: bytes = tarfile.REGTYPE, *, size: int = 0, link: str = "", name: str = "a") -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.size, entry.linkname = kind, size, link
    return entry.tobuf(tarfile.GNU_FORMAT)


def _size(size: bytes) -> Callable[[], bytes]:
    def make() -> bytes:
        entry = bytearray(_header())
        entry[124:136], entry[148:156] = size, b" " * 8
        entry[148:156] = b"%06o\0 " % sum(entry)
        return bytes(entry) + bytes(10240)

    return make


def _kind(kind: bytes) -> Callable[[], bytes]:
    return lambda: _header(kind, link="../../etc/passwd") + bytes(10240)


def _notes(size: int, tail: int = 10240) -> bytes:
    return _header(tarfile.XHDTYPE, size=size) + b"30 path=aaaaaaaaaaaaaaaaaaaaa\n".ljust(tail, b"\0")


def _long_name(kind: bytes, note: bytes) -> bytes:
    return _header(kind, size=len(note), name="././@LongLink") + note.ljust(512, b"\0")


def _pax(key: str, value: str) -> Callable[[], bytes]:
    def make() -> bytes:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers={key: value}) as archive:
            archive.addfile(tarfile.TarInfo("a"))
        return out.getvalue()

    return make


SMALL: Makers = {
    "zip with a name above it": lambda: _zip(("../out", b"out")),
    "tar with a name above it": lambda: _tar(("../out", b"out")),
    "zip, a bomb": lambda: _zip(("a", bytes(100_000_000))),
    "zip whose entries overlap": _overlapping,
    "zip that says less than it holds": lambda: _entry(24, struct.pack("<I", 100)),
    "zip that says 2^32": lambda: _entry(24, struct.pack("<I", 0xFFFFFFF0)),
    "zip that is encrypted": lambda: _entry(8, b"\x01", first=6),
    "zip packed by bzip2": lambda: _zip(("a", b"1"), method=zipfile.ZIP_BZIP2),
    "zip of one entry too many": lambda: _flood(200_001),
    "zip whose directory lies elsewhere": lambda: _end(0x7FFFFFF0),
    "zip without a directory": lambda: _zip(("a", b"a" * 1000))[:-60],
    "zip whose comment holds ten thousand ends": lambda: _zip(("a", b"1"))[:-2] + b"\xff\xff" + b"PK\5\6" * 16384,
    **{f"zip with a {what}": _mode(mode) for what, mode in (("link", 0o120777), ("device", 0o020666))},
    "zip with two files of one name": lambda: _zip(("a", b"1"), ("a", b"2")),
    "zip whose names differ inside": lambda: _zip(("abc", b"1")).replace(b"abc", b"abd", 1),
    "zip of damaged bytes": lambda: _zip(("a", bytes(range(256)) * 40)).replace(b"\x00\x01", b"\x07\x01"),
    "xz with a window of four gigabytes": _xz_window,
    "zip that says more than it holds": lambda: _entry(24, struct.pack("<I", 1_000_001)),
    "zip of an unknown packing": lambda: _entry(10, b"\x63", first=8),
    "zip whose directory is larger than it": lambda: _end(0x7FFFFFF0, at=12),
    "gz that is cut": lambda: gzip.compress(_tar(("a", bytes(range(256)) * 400)))[:-200],
    "tar of 2^63 bytes": _size(b"\x80\0\0\0\x7f" + b"\xff" * 7),
    "tar with a kind of no name": _kind(b"Z"),
    "tar with notes of two megabytes": lambda: _notes(2_000_000, tail=2_000_000),
    "tar with notes of another size": _pax("size", "-5"),
    "rar": lambda: b"Rar!\x1a\x07\x01\0" + bytes(100),
    "gz in gz": lambda: gzip.compress(gzip.compress(_tar(("a", b"1")))),
    "tar that is cut": lambda: _tar(("a", bytes(100_000)))[:50_000],
    "tar of a negative size": _size(b"\xff" * 12),
    "tar of a size that is none": _size(b"not a number"),
    **{f"tar with a {what}": _kind(kind) for what, kind in (("link", b"2"), ("hard link", b"1"), ("pipe", b"6"))},
    "tar with notes of 8 gigabytes": lambda: _notes(8 * 2**30),
    "tar with notes that rename": _pax("path", "../../out"),
    "tar of holes": _pax("GNU.sparse.size", "999999999999"),
    "tar of three thousand long names in a row": lambda: _long_name(b"L", b"a" * 100) * 3000 + bytes(1024),
    "tar of nothing": lambda: bytes(10240),
    "nothing at all": lambda: b"",
}
LARGE: Makers = {
    "zip of bombs in zips": lambda: _zip(*((f"{i}.zip", _zip(("a", bytes(1_000_000)))) for i in range(16))),
    "zip of thirty folders for each file": lambda: _zip(
        *(("/".join(f"{number}_{step}" for step in range(31)), b"") for number in range(5000))
    ),
    "tar.xz, a bomb": lambda: lzma.compress(_tar(("a", bytes(150_000_000))), preset=1),
    "tar of holes, by its notes": _pax("GNU.sparse.map", ",".join(["0", "0"] * 200_000)),
    "tar of three hundred thousand folders": lambda: gzip.compress(_header(tarfile.DIRTYPE) * 300_000 + bytes(10240)),
    "gz of half a million empty ones": lambda: gzip.compress(b"") * 500_000 + gzip.compress(_tar(("a", b"1"))),
    "gz of a name of thirty megabytes": lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 30_000_000,
    "xz of three hundred thousand empty ones": lambda: lzma.compress(b"") * 300_000,
}
