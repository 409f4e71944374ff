import struct
from collections.abc import Callable

import pytest

from mmeval.errors import CorruptMediaError
from mmeval.media import decode
from mmeval.media.decode.container_header import (
    MAX_EDITS,
    check_tables,
    missing_bytes,
    whole_wave,
)
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

CONTAINERS = {
    "wav": tiny.wav(),
    "rf64": tiny.sound("RF64"),
    "w64": tiny.sound("W64"),
    "aiff": tiny.sound("AIFF"),
    "vorbis": tiny.sound("OGG", "VORBIS"),
    "opus": tiny.sound("OGG", "OPUS"),
    "mp4": tiny.clip("mp4"),
    "mov": tiny.clip("mov"),
    "webm": tiny.clip("webm", "libvpx-vp9"),
    "avi": tiny.clip("avi"),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_whole_file_lacks_nothing_and_one_cut_short_at_least_its_end(
    name: str,
) -> None:
    data, mime = CONTAINERS[name], Media.from_bytes(CONTAINERS[name]).mime
    assert (
        missing_bytes(data, mime)
        == missing_bytes(data + b"left over by a writer", mime)
        == 0
    )
    assert min(missing_bytes(data[:-cut], mime) for cut in (1, 100)) > 0
    assert all(
        missing_bytes(data[:end], mime) >= 0 for end in range(min(len(data), 400))
    )


def test_an_mp3_lacks_what_its_first_frame_counts_and_a_stream_with_open_sizes_nothing() -> (
    None
):
    data = tiny.sound("MP3")
    noted = b"ID3\x04\0\0\0\0\x01\x02" + bytes(130) + data
    assert missing_bytes(data, "audio/mpeg") == missing_bytes(noted, "audio/mpeg") == 0
    for complete in (data, noted):
        half = len(data) // 2
        assert missing_bytes(complete[:-half], "audio/mpeg") in range(
            half - 140, half + 1
        )
    data = tiny.wav()
    for size in (b"\xff\xff\xff\xff", bytes(4)):
        assert missing_bytes(data[:40] + size + data[44:], "audio/wav") == 0
    assert missing_bytes(b"wo", "text/plain") == 0


WAVE = tiny.wav()
MORE = b"LIST\x04\0\0\0INFO"
WIDE = (
    b"\xff\xff\xff\xffWAVEds64\x1c\0\0\0" + bytes(8) + (1600).to_bytes(8, "little")
) + bytes(12)


def with_sizes(total: int, samples: int, data: bytes = WAVE) -> bytes:
    """A WAV of 800 samples, 1,600 bytes, that declares other sizes."""
    sizes = [size.to_bytes(4, "little") for size in (total, samples)]
    return data[:4] + sizes[0] + data[8:40] + sizes[1] + data[44:]


def wide(form: bytes, samples: int, declared: int = 1600) -> bytes:
    """A WAV with sizes of 64 bits."""
    sizes = WIDE.replace((1600).to_bytes(8, "little"), declared.to_bytes(8, "little"))
    return form + sizes + WAVE[12:40] + b"\xff\xff\xff\xff" + WAVE[44 : 44 + samples]


OPEN = {
    "nothing": with_sizes(0, 0),
    "no samples": with_sizes(len(WAVE) - 8, 0),
    "the most of 32 bits": with_sizes(0xFFFFFFFF, 0xFFFFFFFF),
    "the most, less a head": with_sizes(0x7FFFFFFF, 0x7FFFFFFF - 44),
    "a round number": with_sizes(0, 0x7FFFF000),
    "more than the whole": with_sizes(len(WAVE) - 8, 5000),
    "the size of the file, twice": with_sizes(len(WAVE), len(WAVE)),
    "nothing, and some": with_sizes(0, 400_000_000),
    "wide, nothing": wide(b"RF64", 1600, 0),
    "wide, the most": wide(b"RF64", 1600, 2**64 - 1),
}


@pytest.mark.parametrize("data", OPEN.values(), ids=OPEN)
def test_samples_whose_size_was_left_open_reach_to_the_end(data: bytes) -> None:
    assert missing_bytes(data, "audio/wav") == 0
    sound = decode.audio(Media.from_bytes(data))
    assert sound.samples.shape == (800, 1)
    assert set(sound.samples.flat) == {0.5}


def test_samples_of_64_bit_sizes_are_read_and_missed() -> None:
    for form in (b"RF64", b"BW64"):
        assert len(decode.audio(Media.from_bytes(wide(form, 1600))).samples) == 800
        assert missing_bytes(wide(form, 1000), "audio/wav") == 600


@pytest.mark.parametrize("size", [4, 4000, 400_000_000])
def test_a_wav_whose_samples_end_early_is_cut_short(size: int) -> None:
    cut = with_sizes(36 + 1600 + size, 1600 + size)
    assert missing_bytes(cut, "audio/wav") == size


def test_a_wav_without_samples_before_other_chunks_holds_none() -> None:
    for more in (b"", MORE, MORE + MORE):
        empty = with_sizes(36 + len(more), 0)[:44] + more
        assert whole_wave(empty) == empty
        with pytest.raises(CorruptMediaError, match="no samples"):
            decode.audio(Media.from_bytes(empty))


def box(name: bytes, *inner: bytes) -> bytes:
    return struct.pack(">I4s", 8 + sum(map(len, inner)), name) + b"".join(inner)


def numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def run(samples: int) -> bytes:
    return box(b"trun", numbers(0, samples))


TABLES: dict[str, Callable[[int], bytes]] = {
    "samples": lambda count: box(
        b"moov", box(b"trak", box(b"stsz", numbers(0, 1, count)))
    ),
    "bytes": lambda count: box(
        b"moov", box(b"trak", box(b"stsz", numbers(0, count // 5, 5)))
    ),
    "small samples": lambda count: box(
        b"moov", box(b"trak", box(b"stz2", numbers(0, 9, count)))
    ),
    "fragments together": lambda count: box(b"moof", run(count - 2000), run(2000)),
    "behind a version": lambda count: box(b"meta", numbers(0), run(count)),
    "in a codec": lambda count: box(
        b"moov", box(b"stsd", numbers(0, 1), box(b"mp4a", bytes(28), run(count)))
    ),
    "clipped": lambda count: numbers(0x7FFFFFFF) + b"moov" + run(count),
    "long size": lambda count: struct.pack(">I4sQ", 1, b"moov", 16 + 16) + run(count),
}


def test_more_samples_than_bytes_are_refused_edits_are_limited_and_usual_files_pass() -> (
    None
):
    for table in TABLES.values():
        check_tables(table(4000).ljust(4000, b"\0"))
        with pytest.raises(ValueError, match=r"\d+ samples in 4000 bytes"):
            check_tables(table(4005).ljust(4000, b"\0"))
    check_tables(box(b"moov", box(b"elst", numbers(0, MAX_EDITS))))
    with pytest.raises(ValueError, match="1000 edits"):
        check_tables(box(b"moov", box(b"elst", numbers(0, MAX_EDITS + 1))))
    check_tables(
        box(
            b"moov", box(b"udta", box(b"name", b"a trunk full of words, elsters, stsz"))
        )
    )
    for usual in (
        tiny.clip("mov", with_sound=True),
        tiny.sound_clip(movflags="frag_keyframe+empty_moov"),
    ):
        check_tables(usual)


def test_packed_tables_and_encrypted_tracks_are_not_read() -> None:
    encrypted = box(b"stsd", numbers(0, 1) + box(b"encv", bytes(70)))
    for inner in (box(b"cmov"), encrypted):
        with pytest.raises(NotImplementedError):
            check_tables(box(b"moov", inner))
