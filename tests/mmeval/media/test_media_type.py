import io

import pytest

from mmeval.media.media import Media
from mmeval.media.media_type import (
    MAX_BOXES,
    SNIFF_BYTES,
    handlers,
    sniff_mime,
    suffix_for,
)
from tests.support import tiny_media as tiny

OFFICE = "application/vnd.openxmlformats-officedocument."
DOCX = f"{OFFICE}wordprocessingml.document"
FRAGMENTED = {"movflags": "frag_keyframe+empty_moov"}
MADE = [
    *(
        (f"image/{form}", tiny.picture(form.upper()))
        for form in ("png", "jpeg", "gif", "webp", "bmp", "tiff", "avif")
    ),
    ("image/tiff", tiny.picture("TIFF", big_tiff=True)),
    ("audio/wav", tiny.wav()),
    ("audio/wav", tiny.sound("WAV", "FLOAT")),
    ("audio/x-w64", tiny.sound("W64")),
    ("audio/mpeg", tiny.sound("MP3")),
    ("audio/flac", tiny.sound("FLAC")),
    ("audio/ogg", tiny.sound("OGG", "VORBIS")),
    ("audio/ogg", tiny.sound("OGG", "OPUS")),
    ("audio/aiff", tiny.sound("AIFF")),
    ("video/mp4", tiny.clip("mp4", with_sound=True)),
    *(
        ("audio/mp4", tiny.sound_clip(form, **more))
        for form, more in (("mp4", FRAGMENTED), ("ipod", {}))
    ),
    ("video/webm", tiny.clip("webm", "libvpx-vp9")),
    ("video/x-matroska", tiny.clip("matroska")),
    ("video/quicktime", tiny.clip("mov")),
    ("video/x-msvideo", tiny.clip("avi")),
    ("video/mp2t", tiny.clip("mpegts", "mpeg2video")),
    ("application/pdf", tiny.pdf()),
    ("model/obj", tiny.PLAIN_OBJ),
    ("model/off", tiny.PLAIN_OFF),
    ("model/ply", tiny.PLAIN_PLY),
    ("model/stl", tiny.PLAIN_STL),
    ("model/stl", tiny.binary_stl()),
    ("model/obj", b"# caf\xe9\no stra\xdfe\n" + tiny.PLAIN_OBJ),
    ("model/gltf-binary", tiny.glb()),
    ("model/ply", tiny.PLAIN_PLY.replace(b"ply\n", b"ply\nobj_info a\n")),
    (DOCX, tiny.zipped("[Content_Types].xml", "word/document.xml")),
    (f"{OFFICE}spreadsheetml.sheet", tiny.zipped("xl/workbook.xml", first=200_000)),
    (f"{OFFICE}presentationml.presentation", tiny.zipped("ppt/presentation.xml")),
    ("application/vnd.oasis.opendocument.spreadsheet", tiny.open_workbook("")),
    ("application/vnd.ms-excel", tiny.OLD_WORKBOOK.read_bytes()),
    ("application/zip", tiny.zipped("words.txt")),
    ("model/obj", b"v 0.5 1e-3 -2\n" * 1000 + b"f 1 2 3\n"),  # its faces come late
]
FIRST_BYTES: dict[str, tuple[bytes, ...]] = {
    "audio/mpeg": (
        b"ID3\x04\0\0\0\0\0\0",
        b"\xff\xfb\x90\x64",
        b"\xff\xf3\x40\xc0",
    ),
    "audio/aac": (b"\xff\xf1\x50\x80",),
    "application/msword": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0",),
    "audio/wav": (
        b"RF64\xff\xff\xff\xffWAVEds64",
        b"BW64\xff\xff\xff\xffWAVEds64",
    ),
    "image/tiff": (b"II+\0\x08\0\0\0", b"MM\0+\0\x08\0\0"),
    "video/mp2t": (
        (b"G\x40\0\x10".ljust(188, b"\xff") * 4)[:600],
        b"\0\0\0\0G\x40\0\x10".ljust(192, b"\xff") * 3,
        b"G\x40\0\x10".ljust(204, b"\xff") * 3,
    ),
    "model/gltf+json": (b'{"scene": 0, "asset": {"version": "2.0"}}',),
    "application/octet-stream": (b"\0\x01\x02", b"caf\xe9"),
    "audio/mp4": (b"\0\0\0\x1cftypM4A \0\0\0\0",),
    "video/mp4": (b"\0\0\0\x1cftypisom\0\0\0\0",),
    "image/avif": (
        b"\0\0\0\x1cftypavif\0\0\0\0",
        b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf",
        b"\0\0\0\x1cftypmsf1\0\0\0\0avismsf1miaf",
    ),
    "image/heic": (
        b"\0\0\0\x1cftypheic\0\0\0\0",
        b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic",
        b"\0\0\0\x14ftypmif1\0\0\0\0mif1avif",
    ),
    "video/quicktime": (b"\0\0\0\x08wide", b"\0\0\0\x08moov"),
    "audio/webm": (b"\x1aE\xdf\xa3\x9fB\x82\x84webm...A_OPUS",),
    "image/svg+xml": (
        b'<?xml version="1.0"?>\n<!-- a -->\n<svg xmlns="a">',
        b"\xef\xbb\xbf <svg>",
        b'<!DOCTYPE svg PUBLIC "a" "b" [ <!ENTITY a "<b>"> ]>\n<svg>',
    ),
    "text/html": (b"<!DOCTYPE html><body><svg></svg>",),
    "application/pdf": (b"\xef\xbb\xbf\r\n%PDF-1.7",),
    "model/off": (
        b"OFF490 518 0\n1 2 3\n",
        b"COFF\n# made\n8 6 12\n",
        b"\n  OFF  \n\n 8 6 12\n",
        b"# made\r\n\r\nOFF # a\r\n8\t6\t0\r\n",
        b"OFF BINARY\n\0\0\0\x08",
    ),
    "model/ply": (
        b"ply\r\nformat ascii 1.0\r\n",
        b"ply\robj_info a\rcomment b\rformat ascii 1.0\r",
        b"ply\nobj_info a\n\ncomment b\nformat ascii 1.0\n",
    ),
    "text/plain": (
        b"<!-- a <svg> in a comment -->words",
        b"\xff\xfea\0b\0",
        b"\xff\xfe\x90\x64",
        b"",
        b"BMW is a car",
        b"OFFICE hours: 9 to 5",
        b"solid state physics\nis fun",
        b"ID3 tags",
        b"glTF is a format",
        b"ply\nwood",
        b"ply\ncommentary\nformat ",
        b"G" * 600,
        b'{"asset": "a house", "version": "2.0"}',
        b"v 1.0 is out",
        b"v one\nv two",
        b"RIFFraff WAVE",
        b"<svgs> are <svg>",
        b"%PDF is a format",
        ("a" + "é" * SNIFF_BYTES).encode()[:SNIFF_BYTES],  # the window cuts a character
    ),
}
HEADS = {head: mime for mime, heads in FIRST_BYTES.items() for head in heads}
LONG = b"\0\0\0\x01mdat" + (16 + 100).to_bytes(8) + bytes(100)


def test_content_is_known_by_its_bytes_and_a_name_decides_only_between_kinds_of_text() -> (
    None
):
    assert [Media.from_bytes(data, "misleading.txt").mime for _, data in MADE] == [
        mime for mime, _ in MADE
    ]
    assert {head: sniff_mime(head) for head in HEADS} == HEADS
    names = {
        "a.csv": "text/csv",
        "A.MD": "text/markdown",
        "a.json": "application/json",
        "a.py": "text/x-python",
        "a.gltf": "model/gltf+json",
        "a.mtl": "model/mtl",
        "a.png": "text/plain",
        "": "text/plain",
    }
    assert {name: sniff_mime(b"a,b\n1,2\n", name) for name in names} == names
    assert {sniff_mime(tiny.picture(), name) for name in names} == {"image/png"}
    mimes = (
        "image/svg+xml",
        "audio/mpeg",
        "video/webm",
        "model/stl",
        DOCX,
        "text/html",
        "application/octet-stream",
    )
    assert [*map(suffix_for, mimes)] == [
        ".svg",
        ".mp3",
        ".webm",
        ".stl",
        ".docx",
        ".html",
        ".bin",
    ]


def box(kind: bytes, *inside: bytes) -> bytes:
    data = b"".join(inside)
    return (8 + len(data)).to_bytes(4) + kind + data


def track(handler: bytes) -> bytes:
    return box(
        b"trak",
        box(b"tkhd", bytes(84)),
        box(b"mdia", box(b"hdlr", bytes(8), handler, bytes(12))),
    )


WHOLE = box(b"moov", track(b"soun"))
TO_THE_END = b"\0\0\0\0moov" + track(b"vide")


@pytest.mark.parametrize(
    ("data", "tracks"),
    [
        (tiny.clip("mp4"), {b"vide"}),
        (tiny.clip("mov", with_sound=True), {b"vide", b"soun"}),
        (tiny.sound_clip("mp4"), {b"soun"}),
        (
            box(b"mdat", b"hdlr" + bytes(200_000))
            + box(b"moov", track(b"soun"), track(b"text")),
            {b"soun", b"text"},
        ),
        (LONG + TO_THE_END, {b"vide"}),
        (b"\0\0\0\x04moov" + WHOLE, set()),
        (b"\0\0\0\x08free" * (MAX_BOXES - 5) + WHOLE, {b"soun"}),
        (b"\0\0\0\x08free" * (MAX_BOXES - 4) + WHOLE, set()),
        *((WHOLE[:cut], set()) for cut in (0, 20, 130)),
        *((WHOLE + WHOLE[:cut], {b"soun"}) for cut in (7, 60)),
    ],
)
def test_the_tracks_of_a_file_are_found(data: bytes, tracks: set[bytes]) -> None:
    assert handlers(io.BytesIO(data), len(data)) == tracks
