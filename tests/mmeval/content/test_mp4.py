from __future__ import annotations

import io
import time

import pytest

from mmeval.content.media_type import MAX_BOXES, handlers
from tests.support import tiny_media as tiny


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
