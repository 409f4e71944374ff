from __future__ import annotations

import pytest

from mmeval.decode.picture_header import MAX_PIECES, MAX_SCANS, check_pieces
from tests.support import tiny_media as tiny

SCAN = b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10\x00"
END = b"\xff\xd9"


def jpeg_of(scans: int, *, behind: bytes = b"") -> bytes:
    return tiny.picture("JPEG", size=(64, 64))[:-2] + SCAN * (scans - 1) + END + behind


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF"])
def test_a_usual_picture_passes(form: str, progressive: bool) -> None:
    check_pieces(tiny.picture(form, size=(500, 300), progressive=progressive), form)


def test_a_jpeg_has_a_limit_of_scans_and_what_follows_it_is_not_counted() -> None:
    check_pieces(jpeg_of(MAX_SCANS, behind=SCAN * 1000), "JPEG")
    with pytest.raises(ValueError, match="more than 200 scans"):
        check_pieces(jpeg_of(MAX_SCANS + 1), "JPEG")


@pytest.mark.parametrize("piece", [b"\xff\xfe\0\x02", b"\xff"], ids=["comments", "filling"])
def test_a_jpeg_is_not_cut_into_endless_segments(piece: bytes) -> None:
    data = tiny.picture("JPEG")
    with pytest.raises(ValueError, match="100000 segments"):
        check_pieces(data[:2] + piece * (MAX_PIECES + 1) + data[2:], "JPEG")


def test_a_png_is_not_cut_into_endless_chunks() -> None:
    data, chunk = tiny.picture(), b"\0\0\0\0abCd\0\0\0\0"
    check_pieces(data[:33] + chunk * 1000 + data[33:], "PNG")
    with pytest.raises(ValueError, match="100000 chunks"):
        check_pieces(data[:33] + chunk * MAX_PIECES + data[33:], "PNG")
