from __future__ import annotations

import io
import time

import pytest

from mmeval.content.media import Media
from mmeval.content.media_type import MAX_BOXES, SNIFF_BYTES, handlers, sniff_mime, suffix_for
from tests.support import tiny_media as tiny

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
MADE = [
    ("image/png", tiny.picture("PNG")),
    ("image/jpeg", tiny.picture("JPEG")),
    ("image/gif", tiny.picture("GIF")),
    ("image/webp", tiny.picture("WEBP")),
    ("image/bmp", tiny.picture("BMP")),
    ("image/tiff", tiny.picture("TIFF")),
    ("audio/wav", tiny.wav()),
    ("audio/mpeg", tiny.sound("MP3")),
    ("audio/flac", tiny.sound("FLAC")),
    ("audio/ogg", tiny.sound("OGG", "VORBIS")),
    ("audio/ogg", tiny.sound("OGG", "OPUS")),
    ("audio/aiff", tiny.sound("AIFF")),
    ("video/mp4", tiny.clip("mp4")),
    ("video/mp4", tiny.clip("mp4", with_sound=True)),
    ("audio/mp4", tiny.sound_clip("mp4")),
    ("audio/mp4", tiny.sound_clip("mp4", movflags="frag_keyframe+empty_moov")),
    ("audio/mp4", tiny.sound_clip("ipod")),
    ("image/avif", tiny.picture("AVIF")),
    ("video/webm", tiny.clip("webm", "libvpx-vp9")),
    ("video/x-matroska", tiny.clip("matroska")),
    ("video/quicktime", tiny.clip("mov")),
    ("video/x-msvideo", tiny.clip("avi")),
    ("application/pdf", tiny.pdf()),
    ("model/obj", tiny.PLAIN_OBJ),
    ("model/off", tiny.PLAIN_OFF),
    ("model/ply", tiny.PLAIN_PLY),
    ("model/stl", tiny.PLAIN_STL),
    ("model/stl", tiny.binary_stl()),
    ("model/gltf-binary", tiny.glb()),
    (DOCX, tiny.zipped("[Content_Types].xml", "word/document.xml")),
    (DOCX.replace("wordprocessingml.document", "spreadsheetml.sheet"), tiny.zipped("xl/workbook.xml", first=200_000)),
    (DOCX.replace("wordprocessingml.document", "presentationml.presentation"), tiny.zipped("ppt/presentation.xml")),
    ("application/zip", tiny.zipped("words.txt")),
]


@pytest.mark.parametrize(("mime", "data"), MADE, ids=[mime.rpartition(".")[2] for mime, _ in MADE])
def test_real_files_are_known_by_their_content_alone(mime: str, data: bytes) -> None:
    assert Media.from_bytes(data, "misleading.txt").mime == mime


@pytest.mark.parametrize(
    ("head", "mime"),
    [
        (b"ID3\x04\0\0\0\0\0\0", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio/mpeg"),
        (b"\xff\xfa\x90\x64", "audio/mpeg"),
        (b"\xff\xf3\x40\xc0", "audio/mpeg"),
        (b"\xff\xf2\x40\xc0", "audio/mpeg"),
        (b"\xff\xe3\x18\xc4", "audio/mpeg"),
        (b"\xff\xfd\x90\x64", "audio/mpeg"),
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0", "application/msword"),
        (b"RF64\xff\xff\xff\xffWAVEds64", "audio/wav"),
        (b"RIFF\x04\0\0\0RMIDdata", "application/octet-stream"),
        (b"\0\0\0\x1cftypM4A \0\0\0\0", "audio/mp4"),
        (b"\0\0\0\x1cftypisom\0\0\0\0", "video/mp4"),
        (b"\0\0\0\x1cftypavif\0\0\0\0", "image/avif"),
        (b"\0\0\0\x1cftypheic\0\0\0\0", "image/heic"),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", "image/avif"),
        (b"\0\0\0\x1cftypmsf1\0\0\0\0avismsf1miaf", "image/avif"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", "image/heic"),
        (b"\0\0\0\x14ftypmif1\0\0\0\0mif1avif", "image/heic"),
        (b"\x1aE\xdf\xa3\x9fB\x82\x84webm...A_OPUS", "audio/webm"),
        (b'<?xml version="1.0"?>\n<!-- a -->\n<svg xmlns="a">', "image/svg+xml"),
        (b"\xef\xbb\xbf <svg>", "image/svg+xml"),
        (b"<!DOCTYPE html><body><svg></svg>", "text/html"),
        (b"<!-- a <svg> in a comment -->words", "text/plain"),
        (b"\xef\xbb\xbf\r\n%PDF-1.7", "application/pdf"),
        (b"OFF490 518 0\n1 2 3\n", "model/off"),
        (b"COFF\n# made\n8 6 12\n", "model/off"),
        (b"ply\r\nformat ascii 1.0\r\n", "model/ply"),
        (b"\xff\xfea\0b\0", "text/plain"),
        (b"\xff\xfe\x90\x64", "text/plain"),
        (b"\0\x01\x02", "application/octet-stream"),
        (b"caf\xe9", "application/octet-stream"),
        (b"", "text/plain"),
    ],
)
def test_variants_are_told_apart_by_their_first_bytes(head: bytes, mime: str) -> None:
    assert sniff_mime(head) == mime


@pytest.mark.parametrize(
    "words",
    [
        *("BMW is a car", "OFFICE hours: 9 to 5", "solid state physics\nis fun", "ID3 tags", "glTF is a format"),
        *("ply\nwood", "v 1.0 is out", "v one\nv two", "RIFFraff WAVE", "<svgs> are <svg>", "%PDF is a format"),
    ],
)
def test_words_that_begin_like_a_format_stay_words(words: str) -> None:
    assert sniff_mime(words.encode()) == "text/plain"


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        *(("a.csv", "text/csv"), ("A.MD", "text/markdown"), ("a.json", "application/json"), ("a.py", "text/x-python")),
        *(("a.gltf", "model/gltf+json"), ("a.mtl", "model/mtl"), ("a.png", "text/plain"), ("", "text/plain")),
    ],
)
def test_a_name_decides_only_between_kinds_of_text(name: str, mime: str) -> None:
    assert sniff_mime(b"a,b\n1,2\n", name) == mime
    assert sniff_mime(tiny.picture(), name) == "image/png"


def test_a_character_cut_by_the_window_leaves_text_text() -> None:
    assert sniff_mime(("a" + "é" * SNIFF_BYTES).encode()[:SNIFF_BYTES]) == "text/plain"


def test_a_long_model_is_known_though_its_faces_come_late() -> None:
    assert Media.from_bytes(b"v 0.5 1e-3 -2\n" * 1000 + b"f 1 2 3\n").mime == "model/obj"


@pytest.mark.parametrize(
    "piece", [b"<!--", b"<!-- -->", b"OFF\n#\n", b"OFF\n ", b"ply\ncomment \n", b"v 1 1 1", b" ", b"<?xml ", b"solid "]
)
def test_hostile_heads_are_sniffed_quickly(piece: bytes) -> None:
    begun = time.process_time()
    sniff_mime((piece * SNIFF_BYTES)[:SNIFF_BYTES])
    sniff_mime((piece[:3] + piece[3:] * SNIFF_BYTES)[:SNIFF_BYTES])
    sniff_mime(b"v" + b" 1" * (SNIFF_BYTES // 2) + b"x")
    assert time.process_time() - begun < 0.2


@pytest.mark.parametrize(
    ("mime", "suffix"),
    [
        ("image/svg+xml", ".svg"),
        ("audio/mpeg", ".mp3"),
        ("video/webm", ".webm"),
        ("model/stl", ".stl"),
        (DOCX, ".docx"),
        ("text/html", ".html"),
        ("application/octet-stream", ".bin"),
    ],
)
def test_a_mime_type_has_a_suffix(mime: str, suffix: str) -> None:
    assert suffix_for(mime) == suffix


def found(data: bytes) -> set[bytes]:
    return handlers(io.BytesIO(data), len(data))


def box(kind: bytes, *inside: bytes) -> bytes:
    data = b"".join(inside)
    return (8 + len(data)).to_bytes(4) + kind + data


def track(handler: bytes) -> bytes:
    return box(b"trak", box(b"tkhd", bytes(84)), box(b"mdia", box(b"hdlr", bytes(8), handler, bytes(12))))


@pytest.mark.parametrize(
    ("data", "tracks"),
    [
        (tiny.clip("mp4"), {b"vide"}),
        (tiny.clip("mov", with_sound=True), {b"vide", b"soun"}),
        (tiny.sound_clip("mp4"), {b"soun"}),
    ],
    ids=["pictures", "both", "sound"],
)
def test_real_files_name_their_tracks(data: bytes, tracks: set[bytes]) -> None:
    assert found(data) == tracks


def test_tracks_are_found_behind_everything_else() -> None:
    rest = box(b"mdat", b"hdlr" + bytes(200_000))
    assert found(rest + box(b"moov", track(b"soun"), track(b"text"))) == {b"soun", b"text"}


def test_a_long_length_and_one_that_goes_to_the_end_are_read() -> None:
    long = b"\0\0\0\x01mdat" + (16 + 100).to_bytes(8) + bytes(100)
    last = b"\0\0\0\0moov" + track(b"vide")
    assert found(long + last) == {b"vide"}


@pytest.mark.parametrize("cut", [0, 7, 20, 60, 130])
def test_a_file_cut_short_names_what_is_left(cut: int) -> None:
    whole = box(b"moov", track(b"soun"))
    assert found(whole[:cut]) == set()
    assert found(whole + whole[:cut]) == {b"soun"}


@pytest.mark.parametrize("piece", [bytes(8), box(b"free"), box(b"moov"), b"\0\0\0\x04moov", b"\0\0\0\x01moov"])
def test_hostile_files_are_read_quickly(piece: bytes) -> None:
    data = piece * (20 * MAX_BOXES)
    begun = time.process_time()
    assert found(data) == set()
    assert found(box(b"moov", box(b"trak", box(b"mdia", data)))) == set()
    assert time.process_time() - begun < 0.5
