from __future__ import annotations

import pytest

from mmeval import decode
from mmeval.content.media import Media
from mmeval.decode import DecodeLimits
from mmeval.errors import MediaLimitError
from tests.support import tiny_media as tiny
from tests.support.decoders import every_page
from tests.support.documents import drawn_table, pdf_of, scan, turned


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


def test_only_the_pages_asked_for_are_drawn() -> None:
    assert len(list(decode.pages(Media.from_bytes(tiny.pdf(pages=3)), numbers=[2, 7]))) == 1


def test_the_pieces_of_a_page_say_where_they_are() -> None:
    ((first, second),) = decode.page_boxes(Media.from_bytes(pdf_of([(50, 700, "Item"), (250, 700, "7 kcal")])))

    assert (first.text, second.text) == ("Item", "7 kcal")
    assert (first.left, second.left) == pytest.approx((50, 250), abs=2)
    assert 85 < first.top < first.bottom < 105  # points from the upper edge


@pytest.mark.parametrize(
    ("degrees", "place"), [(0, (10, 41)), (90, (50, 10)), (180, (163, 50)), (270, (41, 163))], ids=str
)
def test_pieces_stand_where_a_turned_page_shows_them(degrees: int, place: tuple[float, float]) -> None:
    ((box,),) = decode.page_boxes(Media.from_bytes(turned(degrees)))

    assert (box.left, box.top) == pytest.approx(place, abs=1)
    assert (box.right - box.left > box.bottom - box.top) == (degrees in (0, 180))


def test_a_page_of_very_many_pieces_is_read_line_by_line() -> None:
    pieces = [(10 + 33 * (at % 20), 785 - 7.7 * (at // 20), "x.5") for at in range(2000)]
    (boxes,) = decode.page_boxes(Media.from_bytes(pdf_of(pieces)))

    assert len(boxes) == 100
    assert boxes[0].text.startswith("x.5 x.5")
    assert boxes[0].bottom <= boxes[1].top


def test_a_page_that_is_a_picture_has_no_pieces() -> None:
    assert list(decode.page_boxes(Media.from_bytes(scan(drawn_table([["x"]]))))) == [()]
