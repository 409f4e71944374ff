from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mmeval.errors import CorruptMediaError, MissingDataError, StorageError, UsageError
from mmeval.media import SNIFF_BYTES, Media, MediaStore, kind_for, path_inside, sniff_mime, suffix_for
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
        (b"RF64\xff\xff\xff\xffWAVEds64", "audio/wav"),
        (b"RIFF\x04\0\0\0RMIDdata", "application/octet-stream"),
        (b"\0\0\0\x1cftypM4A \0\0\0\0", "audio/mp4"),
        (b"\0\0\0\x1cftypisom\0\0\0\0", "video/mp4"),
        (b"\0\0\0\x1cftypavif\0\0\0\0", "image/avif"),
        (b"\0\0\0\x1cftypheic\0\0\0\0", "image/heic"),
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
    ("mime", "kind", "suffix"),
    [
        ("image/svg+xml", "image", ".svg"),
        ("audio/mpeg", "audio", ".mp3"),
        ("video/webm", "video", ".webm"),
        ("model/stl", "3d", ".stl"),
        (DOCX, "document", ".docx"),
        ("text/html", "document", ".html"),
        ("application/octet-stream", "document", ".bin"),
    ],
)
def test_a_mime_type_has_a_kind_and_a_suffix(mime: str, kind: str, suffix: str) -> None:
    assert (kind_for(mime), suffix_for(mime)) == (kind, suffix)


# Media


def test_a_medium_is_not_read_before_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(tiny.picture())
    media = Media.from_path(tmp_path / "a.png")
    (tmp_path / "a.png").write_bytes(tiny.wav())
    assert (media.mime, media.size) == ("audio/wav", len(tiny.wav()))


def test_equal_bytes_are_equal_media_wherever_they_lie(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"same")
    stored, made = Media.from_path(tmp_path / "a.png"), Media.from_bytes(b"same", "other")
    assert stored == made
    assert len({stored, made, Media.from_bytes(b"different")}) == 2


@pytest.mark.parametrize("ask", ["read", "mime", "size", "sha256"])
def test_a_file_that_has_gone_is_named(tmp_path: Path, ask: str) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    media = Media.from_path(tmp_path / "a.png")
    (tmp_path / "a.png").unlink()
    with pytest.raises(MissingDataError, match=r"a\.png: the media file has gone"):
        media.read() if ask == "read" else getattr(media, ask)


def test_a_path_without_a_file_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="no such media file"):
        Media.from_path(tmp_path)


def recorded(file: Path) -> Media:
    return Media.from_json(Media.from_path(file).to_json(), file.parent)


def test_a_recorded_medium_survives_json(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(tiny.picture())
    media = recorded(tmp_path / "a.png")
    assert media == Media.from_bytes(tiny.picture())
    assert (media.mime, media.name, media.read()) == ("image/png", "a.png", tiny.picture())


@pytest.mark.parametrize("changed", [b"new!", b"longer"], ids=["same size", "another size"])
def test_a_file_changed_since_it_was_recorded_is_noticed(tmp_path: Path, changed: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(b"old!")
    media = recorded(tmp_path / "a.bin")
    (tmp_path / "a.bin").write_bytes(changed)
    with pytest.raises(CorruptMediaError, match=r"a\.bin: the file has changed since it was recorded"):
        media.read()


def test_bytes_are_compared_with_a_record_only_once(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"old!")
    media = recorded(tmp_path / "a.bin")
    assert media.read() == b"old!"
    (tmp_path / "a.bin").write_bytes(b"new!")
    assert media.read() == b"new!"


@pytest.mark.parametrize("sha256", ["../../etc/passwd", "", "A" * 64, "é" * 64])
def test_a_record_with_a_damaged_digest_is_refused(tmp_path: Path, sha256: str) -> None:
    with pytest.raises(UsageError, match="is not the SHA-256 of a medium"):
        Media.from_json({"sha256": sha256, "mime": "image/png", "size": 1, "path": "a"}, tmp_path)


# The store


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_stored_medium_lies_under_its_digest_and_is_found_again(tmp_path: Path) -> None:
    kept = MediaStore(tmp_path).put(Media.from_bytes(tiny.picture(), "a.png"))
    name = hashlib.sha256(tiny.picture()).hexdigest()
    assert files(tmp_path) == [tmp_path / name[:2] / f"{name}.png"]
    row = {key: value for key, value in kept.to_json().items() if key != "path"}
    assert Media.from_json(row, tmp_path).read() == tiny.picture()


def test_a_medium_is_written_once(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    kept = store.put(Media.from_bytes(b"words"))
    assert kept.path is not None
    os.utime(kept.path, (1, 1))
    store.put(Media.from_bytes(b"words"))
    assert kept.path.stat().st_mtime == 1


def test_a_file_cut_short_by_a_crash_is_written_again(tmp_path: Path) -> None:
    store = MediaStore(tmp_path)
    kept = store.put(Media.from_bytes(b"words"))
    assert kept.path is not None
    kept.path.write_bytes(b"wo")
    assert store.put(Media.from_bytes(b"words")).read() == b"words"


def test_many_writers_of_the_same_media_leave_whole_files_and_nothing_else(tmp_path: Path) -> None:
    contents = [bytes([number]) * 20_000 for number in range(4)]
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda data: MediaStore(tmp_path).put(Media.from_bytes(data)), contents * 10))
    assert len(files(tmp_path)) == 4
    assert [media.read() for media in kept] == contents * 10


def test_a_folder_that_cannot_be_made_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "media").write_text("a file in the way")
    with pytest.raises(StorageError, match=r"cannot store a medium \((Not a directory|File exists)\)"):
        MediaStore(tmp_path / "media").put(Media.from_bytes(b"words"))


_LIMITED = """
import resource, sys
from pathlib import Path
from mmeval.errors import StorageError
from mmeval.media import Media, MediaStore
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    MediaStore(Path(sys.argv[1])).put(Media.from_bytes(b"x" * 5000))
except StorageError as error:
    print(error)
"""


def test_a_medium_that_does_not_fit_leaves_no_half_file(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _LIMITED, tmp_path], capture_output=True, text=True, check=True)
    assert "cannot store a medium (File too large); free space" in done.stdout
    assert files(tmp_path) == []


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Path:
    """A disk of 64 KiB, where the machine lets us mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    return disk


def mounted(disk: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(disk)]
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "words"), [("size=64k", "No space left on device"), ("ro", "Read-only file system")]
)
def test_a_full_or_read_only_disk_is_a_storage_error_and_leaves_nothing(
    tiny_disk: Path, options: str, words: str
) -> None:
    if not mounted(tiny_disk, options):
        pytest.skip("no disk can be mounted here")
    try:
        with pytest.raises(StorageError, match=words):
            MediaStore(tiny_disk).put(Media.from_bytes(bytes(200_000)))
        assert files(tiny_disk) == []
    finally:
        subprocess.run(["umount", tiny_disk], check=True)


# Paths in data


def test_a_path_inside_its_root_is_joined(tmp_path: Path) -> None:
    assert path_inside(tmp_path, "img/a.png") == tmp_path / "img" / "a.png"


@pytest.mark.parametrize(
    "relative", ["../a", "/etc/passwd", "a/../../b", "link/a", "loop/a", "nul\0", "a/../../" + "x" * 5000]
)
def test_a_path_that_leads_out_of_its_root_is_refused(tmp_path: Path, relative: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "link").symlink_to(tmp_path)
    (tmp_path / "root" / "loop").symlink_to("loop")
    with pytest.raises(UsageError, match=r"leads out of|is not a path inside"):
        path_inside(tmp_path / "root", relative)


def test_links_of_a_hub_snapshot_may_point_to_the_blobs_of_its_data_set(tmp_path: Path) -> None:
    snapshot = tmp_path / "data" / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (tmp_path / "data" / "blobs").mkdir()
    (snapshot / "a.png").symlink_to("../../blobs/x")
    (snapshot / "b.png").symlink_to("../../../other/x")
    assert path_inside(snapshot, "a.png") == snapshot / "a.png"
    with pytest.raises(UsageError, match="leads out of"):
        path_inside(snapshot, "b.png")
