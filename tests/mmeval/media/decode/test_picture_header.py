from pathlib import Path

import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media.decode.limits import DecodeLimits
from mmeval.media.decode.picture_header import (
    MAX_PIECES,
    MAX_SCANS,
    check_pieces,
    check_size,
)
from mmeval.media.media import Media
from tests.support import tiny_media as tiny

SCAN = b"\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x10\x00"
JPEG, PNG = tiny.picture("JPEG", size=(64, 64)), tiny.picture()


def scans(count: int, *, after: bytes = b"") -> bytes:
    return JPEG[:-2] + SCAN * (count - 1) + b"\xff\xd9" + after


def chunks(count: int) -> bytes:
    return PNG[:33] + b"\0\0\0\0abCd\0\0\0\0" * count + PNG[33:]


@pytest.mark.parametrize("form", ["PNG", "GIF", "JPEG", "BMP"])
def test_the_size_in_a_header_is_checked_without_the_pixels(
    form: str, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(tiny.picture(form, size=(30, 20)))
    (tmp_path / "cut").write_bytes(tiny.picture(form)[:9])
    check_size(Media.from_path(tmp_path / "a"), limits=DecodeLimits(max_pixels=600))
    # it is not a file
    check_size(Media.from_bytes(tiny.picture(form)), limits=DecodeLimits(max_pixels=1))
    with pytest.raises(MediaLimitError, match="max_pixels = 599"):
        check_size(Media.from_path(tmp_path / "a"), limits=DecodeLimits(max_pixels=599))
    cut = Media(path=tmp_path / "cut", mime=Media.from_bytes(tiny.picture(form)).mime)
    with pytest.raises(CorruptMediaError):
        check_size(cut, limits=DecodeLimits())


def test_a_picture_of_too_many_pieces_is_refused_and_what_follows_it_is_not_counted() -> (
    None
):
    for form, progressive in (
        ("PNG", False),
        ("GIF", False),
        ("JPEG", False),
        ("JPEG", True),
    ):
        check_pieces(tiny.picture(form, size=(500, 300), progressive=progressive), form)
    check_pieces(scans(MAX_SCANS, after=SCAN * 1000), "JPEG")
    check_pieces(chunks(MAX_PIECES - 2), "PNG")
    for data, form in (
        (scans(MAX_SCANS + 1), "JPEG"),
        (JPEG[:2] + b"\xff\xfe\0\x02" * MAX_PIECES + JPEG[2:], "JPEG"),
        (JPEG[:2] + b"\xff" * MAX_PIECES + JPEG[2:], "JPEG"),
        (chunks(MAX_PIECES - 1), "PNG"),
    ):
        with pytest.raises(ValueError, match="more than"):
            check_pieces(data, form)
