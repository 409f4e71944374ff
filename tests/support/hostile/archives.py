"""Hostile archives."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
from collections.abc import Callable

from tests.support.hostile.case import Hostile, named

_ZEROS = 150_000_000


def cases() -> tuple[Hostile, ...]:
    names: dict[str, Callable[[], bytes]] = {}
    for what, name in _NAMES.items():
        names[f"zip with {what}"] = _zip_of(name)
        names[f"tar with {what}"] = _tar_of(name)
    makers: dict[str, Callable[[], bytes]] = {
        **names,
        "zip, a bomb": lambda: _zip(("a", bytes(_ZEROS))),
        "zip, a bomb in many files": lambda: _zip(*((f"a{i}", bytes(20_000_000)) for i in range(10))),
        "zip of bombs in zips": lambda: _zip(*((f"{i}.zip", _zip(("a", bytes(1_000_000)))) for i in range(16))),
        "zip whose entries overlap": _overlapping,
        "zip that says less than it holds": lambda: _lying_size(100),
        "zip that says more than it holds": lambda: _lying_size(2_000_000),
        "zip that says 2^60": lambda: _lying_size(0xFFFFFFF0),
        "zip of a million entries": lambda: _flood(1_000_000),
        "zip whose directory lies elsewhere": lambda: _end(offset=0x7FFFFFF0),
        "zip whose directory is larger than it": lambda: _end(size=0x7FFFFFF0),
        "zip that counts 65535 entries": lambda: _end(count=65535),
        "zip without a directory": lambda: _zip(("a", b"a" * 1000))[:-60],
        "zip with a link": lambda: _zip_mode(0o120777),
        "zip with a device": lambda: _zip_mode(0o020666),
        "zip with a pipe": lambda: _zip_mode(0o010666),
        "zip that is encrypted": lambda: _zip_flag(1),
        "zip of an unknown packing": lambda: _zip_method(99),
        "zip packed by bzip2, a bomb": lambda: _zip(("a", bytes(_ZEROS)), method=zipfile.ZIP_BZIP2),
        "zip packed by lzma, a bomb": lambda: _zip(("a", bytes(_ZEROS)), method=zipfile.ZIP_LZMA),
        "zip with two files of one name": lambda: _zip(("a", b"1"), ("a", b"2")),
        "zip with two files of one name but for case": lambda: _zip(("a", b"1"), ("A", b"2")),
        "zip with two files of one name but for accents": lambda: _zip(("\u00e9", b"1"), ("e\u0301", b"2")),
        "zip with two files of one name but for a dot": lambda: _zip(("a", b"1"), ("a.", b"2")),
        "zip with a file that is a folder": lambda: _zip(("a", b"1"), ("a/b", b"2")),
        "zip whose names differ inside": lambda: _zip(("abc", b"1")).replace(b"abc", b"abd", 1),
        "zip of damaged bytes": lambda: _zip(("a", bytes(range(256)) * 40)).replace(b"\x00\x01", b"\x07\x01"),
        "tar.gz, a bomb": lambda: gzip.compress(_tar(("a", bytes(_ZEROS)))),
        "tar.bz2, a bomb": lambda: bz2.compress(_tar(("a", bytes(_ZEROS)))),
        "tar.xz, a bomb": lambda: lzma.compress(_tar(("a", bytes(_ZEROS))), preset=1),
        "gz of zeros": lambda: gzip.compress(bytes(_ZEROS)),
        "xz with a window of four gigabytes": _xz_window,
        "gz in gz": lambda: gzip.compress(gzip.compress(_tar(("a", bytes(_ZEROS))))),
        "gz that is cut": lambda: gzip.compress(_tar(("a", bytes(range(256)) * 400)))[:-200],
        "tar that is cut": lambda: _tar(("a", bytes(100_000)))[:50_000],
        "tar of a negative size": lambda: _tar_size(b"\xff" * 12),
        "tar of 2^63 bytes": lambda: _tar_size(b"\x80\0\0\0\x7f" + b"\xff" * 7),
        "tar of a size that is none": lambda: _tar_size(b"not a number"),
        "tar whose sum is wrong": lambda: _tar(("a", b"1")).replace(b"ustar", b"utsar", 1),
        **{f"tar with a {what}": _tar_kind(kind) for what, kind in _KINDS.items()},
        "tar with notes of 8 gigabytes": lambda: _tar_notes(8 * 2**30),
        "tar with notes of 50 megabytes": lambda: _tar_notes(50_000_000, tail=50_000_000),
        "tar with notes that rename": lambda: _pax("path", "../../out"),
        "tar with notes of another size": lambda: _pax("size", "-5"),
        "tar of holes": lambda: _pax("GNU.sparse.size", "999999999999"),
        "tar of three hundred thousand folders": lambda: gzip.compress(_folders(300_000)),
        "tar with two files of one name": lambda: _tar(("a", b"1"), ("a", b"2")),
        "tar of nothing": lambda: bytes(10240),
        "zip of 2^62 bytes": lambda: _zip64(2**62),
        "zip of 2^60 entries": _zip64_end,
        "zip whose comment holds ten thousand ends": lambda: _zip(("a", b"1"))[:-2] + b"\xff\xff" + b"PK\5\6" * 16384,
        "zip of thirty folders for each file": lambda: _zip(
            *(("/".join(f"{number}_{step}" for step in range(31)), b"") for number in range(5000))
        ),
        "tar of holes, by its notes": lambda: _pax("GNU.sparse.map", ",".join(["0", "0"] * 200_000)),
        "tar of three thousand long names in a row": lambda: (_tar_note(b"L", b"a" * 100)) * 3000 + bytes(1024),
        "tar whose note has no length": lambda: _tar_note(tarfile.XHDTYPE, b"0 a=b\n" * 80) + bytes(10240),
        "gz of half a million empty ones": lambda: gzip.compress(b"") * 500_000 + gzip.compress(_tar(("a", b"1"))),
        "gz of a name of thirty megabytes": lambda: b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 30_000_000,
        "bz2 of half a million empty ones": lambda: bz2.compress(b"") * 500_000,
        "xz of three hundred thousand empty ones": lambda: lzma.compress(b"") * 300_000,
        "rar": lambda: b"Rar!\x1a\x07\x01\0" + bytes(100),
        "7z": lambda: b"7z\xbc\xaf\x27\x1c" + bytes(100),
        "nothing at all": lambda: b"",
    }
    return named("archive", ("archive",), makers)


_NAMES = {
    "a name above it": "../out",
    "a name above it, later": "a/../../out",
    "an absolute name": "/tmp/out",
    "a name on a share": "//host/share/out",
    "a name on a Windows share": "\\\\host\\share\\out",
    "a name on a drive": "C:/out",
    "a name with backslashes": "..\\out",
    "a name with a line break": "a\nb",
    "a name of a device": "a/NUL.txt",
    "a name of 300 letters": "a" * 300,
    "a name of 90 folders": "a/" * 90 + "a",
}
_KINDS = {
    "link out": tarfile.SYMTYPE,
    "hard link out": tarfile.LNKTYPE,
    "character device": tarfile.CHRTYPE,
    "block device": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
    "kind of no name": b"Z",
    "piece of a larger file": b"M",
}


def _zip(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    import warnings

    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w", method, compresslevel=9) as archive:
        warnings.simplefilter("ignore")  # of two files of one name
        for name, data in files:
            archive.writestr(zipfile.ZipInfo(name), data, method)
    return out.getvalue()


def _zip_of(name: str) -> Callable[[], bytes]:
    return lambda: _zip((name, b"out"))


def _tar(*files: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _tar_of(name: str) -> Callable[[], bytes]:
    return lambda: _tar((name, b"out"))


def _overlapping() -> bytes:
    """Two entries of the directory that name the same bytes."""
    data = _zip(("a", b"1" * 100), ("b", b"2" * 100))
    second = data.rindex(b"PK\x01\x02")
    return data[: second + 42] + bytes(4) + data[second + 46 :]


def _lying_size(size: int) -> bytes:
    data = _zip(("a", b"1" * 1_000_000))
    at = data.rindex(b"PK\x01\x02") + 24
    return data[:at] + struct.pack("<I", size) + data[at + 4 :]


def _flood(count: int) -> bytes:
    one = b"PK\x01\x02" + bytes(24) + b"\x01\0" + bytes(16) + b"a"
    return (
        b"PK\x03\x04"
        + bytes(26)
        + one * count
        + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(one) * count, 30, 0)
    )


def _end(*, count: int = 1, size: int | None = None, offset: int | None = None) -> bytes:
    data = _zip(("a", b"1"))
    at = data.rindex(b"PK\x05\x06")
    real_size, real_offset = struct.unpack_from("<2L", data, at + 12)
    sizes = (real_size if size is None else size, real_offset if offset is None else offset)
    return data[:at] + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, *sizes, 0)


def _zip_mode(mode: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        entry = zipfile.ZipInfo("a")
        entry.create_system, entry.external_attr = 3, mode << 16
        archive.writestr(entry, "/etc/passwd")
    return out.getvalue()


def _zip_flag(flag: int) -> bytes:
    data = bytearray(_zip(("a", b"1")))
    data[6] |= flag
    data[data.rindex(b"PK\x01\x02") + 8] |= flag
    return bytes(data)


def _zip_method(method: int) -> bytes:
    data = bytearray(_zip(("a", b"1")))
    data[8] = method
    data[data.rindex(b"PK\x01\x02") + 10] = method
    return bytes(data)


def _zip64(size: int) -> bytes:
    data = _zip(("a", b"1" * 1000))
    at, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\5\6")
    extra = struct.pack("<HHQQQ", 1, 24, size, size, 0)
    entry = bytearray(data[at:end])
    entry[20:28], entry[30:32], entry[42:46] = b"\xff" * 8, struct.pack("<H", len(extra)), b"\xff" * 4
    return data[:at] + entry + extra + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entry) + len(extra), at, 0)


def _zip64_end() -> bytes:
    data = _zip(("a", b"1"))
    at, end = data.rindex(b"PK\x01\x02"), data.rindex(b"PK\5\6")
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 2**60, 2**60, 2**60, at)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    return (
        data[:end] + large + locator + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    )


def _xz_window() -> bytes:
    """A stream whose header asks for a window of four gigabytes."""
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 0}])
    body = packer.compress(_tar(("a", b"1"))) + packer.flush()
    import zlib

    block = b"\x02\0\x21\x01\x28" + bytes(3)  # 0x28: 2^32 - 1
    header = b"\xfd7zXZ\0\0\x01" + struct.pack("<I", zlib.crc32(b"\0\x01"))
    return header + block + struct.pack("<I", zlib.crc32(block)) + body + bytes(32)


def _header(entry: tarfile.TarInfo) -> bytes:
    return entry.tobuf(tarfile.GNU_FORMAT)


def _tar_size(size: bytes) -> bytes:
    entry = bytearray(_header(tarfile.TarInfo("a")))
    entry[124:136] = size
    entry[148:156] = b" " * 8
    entry[148:156] = b"%06o\0 " % sum(entry)
    return bytes(entry) + bytes(10240)


def _tar_kind(kind: bytes) -> Callable[[], bytes]:
    def make() -> bytes:
        entry = tarfile.TarInfo("a")
        entry.type, entry.linkname = kind, "../../etc/passwd"
        return _header(entry) + bytes(10240)

    return make


def _tar_notes(size: int, *, tail: int = 10240) -> bytes:
    entry = tarfile.TarInfo("a")
    entry.type, entry.size = tarfile.XHDTYPE, size
    return _header(entry) + b"30 path=aaaaaaaaaaaaaaaaaaaaa\n".ljust(tail, b"\0")


def _tar_note(kind: bytes, note: bytes) -> bytes:
    entry = tarfile.TarInfo("././@LongLink")
    entry.type, entry.size = kind, len(note)
    return _header(entry) + note.ljust(512, b"\0")


def _pax(key: str, value: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers={key: value}) as archive:
        archive.addfile(tarfile.TarInfo("a"))
    return out.getvalue()


def _folders(count: int) -> bytes:
    entry = tarfile.TarInfo("a")
    entry.type = tarfile.DIRTYPE
    return _header(entry) * count + bytes(10240)


def small_zip() -> bytes:
    """An archive with which nothing is wrong."""
    return _zip(("a/b.txt", b"words " * 50), ("c.bin", bytes(range(256))))


def small_tar(packing: str = "") -> bytes:
    """An archive with which nothing is wrong, compressed or not."""
    data = _tar(("a/b.txt", b"words " * 50), ("c.bin", bytes(range(256))))
    return gzip.compress(data, mtime=0) if packing == "gz" else data
