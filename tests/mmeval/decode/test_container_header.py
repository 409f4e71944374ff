from __future__ import annotations

import pytest

from mmeval.content.media import Media
from mmeval.decode.container_header import missing_bytes
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
