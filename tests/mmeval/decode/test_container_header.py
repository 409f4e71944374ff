from __future__ import annotations

import struct

import pytest

from mmeval.content.media import Media
from mmeval.decode.container_header import MAX_EDITS, check_tables, missing_bytes
from tests.support import tiny_media as tiny

CONTAINERS = {
    "wav": tiny.wav(),
    "aiff": tiny.sound("AIFF"),
    "vorbis": tiny.sound("OGG", "VORBIS"),
    "opus": tiny.sound("OGG", "OPUS"),
    "mp4": tiny.clip("mp4"),
    "mov": tiny.clip("mov"),
    "webm": tiny.clip("webm", "libvpx-vp9"),
    "avi": tiny.clip("avi"),
}


def mime(data: bytes) -> str:
    return Media.from_bytes(data).mime


@pytest.mark.parametrize("name", [*CONTAINERS, "mp3"])
def test_a_whole_file_lacks_nothing(name: str) -> None:
    data = CONTAINERS.get(name) or tiny.sound("MP3")
    assert missing_bytes(data, mime(data)) == 0
    assert missing_bytes(data + b"left over by a writer", mime(data)) == 0


@pytest.mark.parametrize("name", CONTAINERS)
@pytest.mark.parametrize("cut", [1, 100])
def test_a_file_cut_short_lacks_at_least_its_end(name: str, cut: int) -> None:
    data = CONTAINERS[name]
    assert missing_bytes(data[:-cut], mime(data)) > 0


def test_an_mp3_lacks_what_its_first_frame_counts() -> None:
    data = tiny.sound("MP3")
    assert missing_bytes(data[: len(data) // 2], "audio/mpeg") == len(data) - len(data) // 2


@pytest.mark.parametrize("size", [b"\xff\xff\xff\xff", bytes(4)], ids=["largest", "zero"])
def test_a_stream_with_open_sizes_lacks_nothing(size: bytes) -> None:
    data = bytearray(tiny.wav())
    data[40:44] = size
    assert missing_bytes(bytes(data), "audio/wav") == 0


@pytest.mark.parametrize("name", CONTAINERS)
def test_any_beginning_of_a_file_can_be_asked(name: str) -> None:
    data = CONTAINERS[name]
    assert all(missing_bytes(data[:end], mime(data)) >= 0 for end in range(min(len(data), 400)))


def test_a_kind_of_file_that_declares_nothing_lacks_nothing() -> None:
    assert missing_bytes(b"wo", "text/plain") == 0


def box(name: bytes, *inner: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, inner)), name) + b"".join(inner)


def numbers(*found: int) -> bytes:
    return struct.pack(f">{len(found)}I", *found)


def run(samples: int) -> bytes:
    return box(b"trun", numbers(0, samples))


@pytest.mark.parametrize("form", ["mp4", "mov"])
def test_usual_files_pass(form: str) -> None:
    check_tables(tiny.clip(form, with_sound=form == "mp4"))
    check_tables(tiny.sound_clip(movflags="frag_keyframe+empty_moov"))


@pytest.mark.parametrize(
    "tables",
    [
        box(b"moov", box(b"trak", box(b"stsz", numbers(0, 1, 5000)))),
        box(b"moov", box(b"trak", box(b"stsz", numbers(0, 1000, 5)))),
        box(b"moof", run(3000), run(3000)),
        box(b"meta", numbers(0), run(5000)),
        box(b"moov", box(b"stsd", numbers(0, 1), box(b"mp4a", bytes(28), run(5000)))),
        numbers(0x7FFFFFFF) + b"moov" + run(5000),
        struct.pack(">I4sQ", 1, b"moov", 16 + 16) + run(5000),
    ],
    ids=["samples", "bytes", "fragments together", "behind a version", "in a codec", "clipped", "long size"],
)
def test_more_samples_than_bytes_are_refused_wherever_they_are_promised(tables: bytes) -> None:
    with pytest.raises(ValueError, match=r"promise [0-9]+ samples in [0-9]+ bytes"):
        check_tables(tables.ljust(4000, b"\0"))


def test_edits_are_limited_and_packed_tables_are_refused() -> None:
    check_tables(box(b"moov", box(b"elst", numbers(0, MAX_EDITS))))
    with pytest.raises(ValueError, match="more than 1000 edits"):
        check_tables(box(b"moov", box(b"elst", numbers(0, MAX_EDITS + 1))))
    with pytest.raises(ValueError, match="packed"):
        check_tables(box(b"moov", box(b"cmov")))


def test_the_name_of_a_table_in_a_title_is_a_word() -> None:
    check_tables(box(b"moov", box(b"udta", box(b"name", b"a trunk full of words, elsters, stsz"))))
