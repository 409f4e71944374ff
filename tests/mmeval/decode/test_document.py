from __future__ import annotations

import pytest

from mmeval import decode
from mmeval.decode import DecodeLimits
from mmeval.errors import MediaLimitError
from mmeval.media import Media
from tests.support import tiny_media as tiny
from tests.support.decoders import every_page


def test_pages_are_rendered_at_the_resolution_asked_for() -> None:
    (page,) = decode.pages(Media.from_bytes(tiny.pdf()), dpi=144)
    assert (page.mode, page.size) == ("RGB", (400, 200))
    assert page.getextrema()[0] == (0, 255)


def test_pages_are_counted_without_drawing_them() -> None:
    assert decode.page_count(Media.from_bytes(tiny.pdf("Hello", pages=2))) == 2
    with pytest.raises(MediaLimitError, match="max_pages = 1"):
        decode.page_count(Media.from_bytes(tiny.pdf("Hello", pages=2)), limits=DecodeLimits(max_pages=1))


def test_the_text_of_a_pdf_is_read_page_by_page() -> None:
    assert decode.document_text(Media.from_bytes(tiny.pdf("Hello", pages=2))) == "Hello\nHello"


@pytest.mark.parametrize(
    ("data", "name"),
    [("ä,1".encode(), "a.csv"), ("ä,1".encode("utf-16"), "a.txt"), (b"\xef\xbb\xbf\xc3\xa4,1", "a.md")],
)
def test_text_files_are_read_in_their_encoding(data: bytes, name: str) -> None:
    assert decode.document_text(Media.from_bytes(data, name)) == "ä,1"


@pytest.mark.parametrize(
    ("data", "limits"),
    [
        (tiny.pdf(pages=3), DecodeLimits(max_pages=2)),
        (tiny.pdf(size=(1_000_000, 1_000_000)), DecodeLimits()),
        (tiny.pdf(), DecodeLimits(max_seconds=0.0)),
    ],
    ids=["pages", "pixels", "seconds"],
)
def test_pages_above_a_limit_are_refused(data: bytes, limits: DecodeLimits) -> None:
    with pytest.raises(MediaLimitError, match="above the limit max_"):
        every_page(Media.from_bytes(data), limits=limits)


def test_text_above_the_limit_is_refused() -> None:
    with pytest.raises(MediaLimitError, match="5 characters found, above the limit max_text_chars = 4"):
        decode.document_text(Media.from_bytes(b"words"), limits=DecodeLimits(max_text_chars=4))
