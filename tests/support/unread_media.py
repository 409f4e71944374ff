"""Sound media that mmeval does not read, each with the kind of part that holds it."""

import io
import struct
from collections.abc import Mapping
from typing import NamedTuple

from mmeval.media.media import Media, MediaKind
from tests.support import tiny_media as tiny

OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_BITS_OF_16 = struct.pack("<HHIH", 258, 3, 1, 16)
_BITS_OF_24 = struct.pack("<HHIH", 258, 3, 1, 24)
_LOCKED_FLAG = 1


class Unread(NamedTuple):
    """A file and the kind of part in which a model gives it."""

    kind: MediaKind
    data: bytes

    @property
    def media(self) -> Media:
        return Media.from_bytes(self.data)


def patched(data: bytes, place: int, replacement: bytes) -> bytes:
    """The same bytes with others at one place."""
    return data[:place] + replacement + data[place + len(replacement) :]


def packed_bmp() -> bytes:
    """A BMP whose pixels are said to be a JPEG."""
    return patched(tiny.picture("BMP"), 30, b"\4")


def twelve_bit_jpeg() -> bytes:
    data = tiny.picture("JPEG")
    return patched(data, data.index(b"\xff\xc0") + 4, b"\x0c")


def deep_tiff() -> bytes:
    """A grey TIFF of 24 bits a pixel."""
    data = tiny.picture("TIFF", mode="I;16")
    assert _BITS_OF_16 in data
    return data.replace(_BITS_OF_16, _BITS_OF_24)


def wav_of_unknown_codec() -> bytes:
    return patched(tiny.wav(), 20, b"\x43\x42")


def clip_of_unknown_codec() -> bytes:
    return tiny.clip().replace(b"mp4v", b"zzzz").replace(b"esds", b"free")


def encrypted_clip() -> bytes:
    return tiny.clip().replace(b"mp4v", b"encv")


def deep_flac() -> bytes:
    """A FLAC of 20 bits a sample, by its header."""
    data = tiny.sound("FLAC")
    depth = (int.from_bytes(data[20:22], "big") & ~(31 << 4)) | (19 << 4)
    return patched(data, 20, depth.to_bytes(2, "big"))


def deep_wav() -> bytes:
    """A WAV of floats of 16 bits, by its header."""
    return patched(patched(tiny.wav(), 20, b"\3"), 34, b"\x10")


def locked_pdf() -> bytes:
    """A PDF with a password."""
    import pypdf

    writer = pypdf.PdfWriter()
    writer.add_blank_page(width=72, height=72)
    writer.encrypt("secret", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def old_office(*names: str) -> bytes:
    """An old office file: a head, and a directory of its root and other names."""
    head = OLD_OFFICE + bytes(22) + b"\x09\0" + bytes(16) + struct.pack("<I", 0)
    root = "Root Entry".encode("utf-16-le").ljust(66, b"\0") + b"\5"
    directory = root.ljust(128, b"\0")
    for name in names:
        directory += name.encode("utf-16-le").ljust(128, b"\0")
    return head.ljust(512, b"\0") + directory.ljust(512, b"\0")


def locked_office() -> bytes:
    """What a program of office writes for a document with a password: an old office
    file that holds the encrypted new one."""
    return old_office("EncryptedPackage")


def lost_directory() -> bytes:
    """An old Word file whose head names another place for its directory."""
    return patched(old_office("WordDocument").ljust(2048, b"\0"), 48, b"\1")


def locked_workbook() -> bytes:
    """An ods file with a password, by its manifest."""
    entries = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<manifest><encryption-data/></manifest>",
        "content.xml": "secret",
    }
    return tiny.packed(entries, 0)


def locked_old_workbook() -> bytes:
    """An xls file with a password, by the first records of its content."""
    data = tiny.OLD_WORKBOOK.read_bytes()
    place = data.index(b"\x09\x08\x10\0\0\x06\x05\0")
    return patched(data, place + 20, b"\x2f\0")


def jpeg_ls() -> bytes:
    data = tiny.picture("JPEG")
    return patched(data, data.index(b"\xff\xc0") + 1, b"\xf7")


def locked_entries() -> bytes:
    """A Word document whose entries have a password."""
    data = bytearray(tiny.word("secret"))
    for header, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        place = data.find(header)
        while place >= 0:
            data[place + flags] |= _LOCKED_FLAG
            place = data.find(header, place + 1)
    return bytes(data)


UNREAD: Mapping[str, Unread] = {
    "heic": Unread("image", b"\0\0\0\x1cftypheic\0\0\0\0mif1heic" + bytes(40)),
    "jpeg xl": Unread("image", b"\xff\x0a\xfa\x1f" + bytes(40)),
    "bmp of a packed kind": Unread("image", packed_bmp()),
    "jpeg of 12 bits": Unread("image", twelve_bit_jpeg()),
    "tiff of 24 bits": Unread("image", deep_tiff()),
    "svg with entities": Unread(
        "image",
        b'<!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY ns "c">]>\n'
        b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    ),
    "svg with a picture elsewhere": Unread(
        "image",
        b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
        b'<image href="https://a.example/a.png"/></svg>',
    ),
    "amr": Unread("audio", b"#!AMR\n" + bytes(40)),
    "midi": Unread("audio", b"MThd\0\0\0\6" + bytes(40)),
    "wav of an unknown codec": Unread("audio", wav_of_unknown_codec()),
    "wav of short floats": Unread("audio", deep_wav()),
    "flac of 20 bits": Unread("audio", deep_flac()),
    "encrypted clip": Unread("video", encrypted_clip()),
    "wmv": Unread("video", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11" + bytes(40)),
    "clip of an unknown codec": Unread("video", clip_of_unknown_codec()),
    "fbx": Unread("3d", b"Kaydara FBX Binary  \0\x1a\0" + bytes(40)),
    "collada": Unread("3d", b'<?xml version="1.0"?>\n<COLLADA xmlns="a"></COLLADA>'),
    "usdz": Unread("3d", tiny.packed({"scene.usdc": ""}, 0)),
    "pdf with a password": Unread("document", locked_pdf()),
    "office with a password": Unread("document", locked_office()),
    "entries with a password": Unread("document", locked_entries()),
    "old word": Unread("document", old_office("WordDocument")),
    "odt": Unread(
        "document",
        tiny.packed({"mimetype": "application/vnd.oasis.opendocument.text"}, 0),
    ),
    "dotx": Unread(
        "document",
        tiny.with_types(
            "application/vnd.openxmlformats-officedocument.wordprocessingml."
            "template.main+xml"
        ),
    ),
    "zip": Unread("document", tiny.zipped("words.txt")),
    "ods with a password": Unread("document", locked_workbook()),
    "xls with a password": Unread("document", locked_old_workbook()),
    "words in latin-1": Unread("document", "café, naïve\n".encode("latin-1")),
    "words in gbk": Unread("document", "文字内容\n".encode("gbk")),
    "binary off": Unread("3d", b"OFF BINARY\n" + bytes(60)),
    "off of four dimensions": Unread("3d", b"4OFF\n1 0 0\n0 0 0 1\n"),
    "jpeg-ls": Unread("image", jpeg_ls()),
}
DAMAGED: Mapping[str, Unread] = {
    "noise as a picture": Unread("image", bytes(range(256))),
    "words as a picture": Unread("image", b"a picture of an owl"),
    "a sound as a picture": Unread("image", tiny.wav()),
    "half a png": Unread("image", tiny.picture(size=(64, 64))[:60]),
    "noise as a sound": Unread("audio", bytes(range(256))),
    "half a flac": Unread("audio", tiny.sound("FLAC")[:40]),
    "half a wav": Unread("audio", tiny.wav()[:200]),
    "half a clip": Unread("video", tiny.clip()[:600]),
    "noise as a mesh": Unread("3d", bytes(range(256))),
    "material as a mesh": Unread("3d", b"newmtl red\n"),
    "half a word": Unread("document", tiny.word("word " * 99)[:300]),
    "half a workbook": Unread("document", tiny.workbook({"a": ""})[:200]),
    "half an old workbook": Unread("document", tiny.OLD_WORKBOOK.read_bytes()[:3000]),
    "an old word without its root": Unread(
        "document", patched(old_office("WordDocument"), 512, b"\xad")
    ),
    "an old word whose directory is lost": Unread("document", lost_directory()),
    "an old workbook that its reader panics at": Unread(
        "document", patched(tiny.OLD_WORKBOOK.read_bytes(), 1489, b"\0")
    ),
    "noise as a document": Unread("document", bytes(range(256))),
}
"""What is the model's fault, beside it."""
