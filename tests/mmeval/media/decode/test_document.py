import pytest

from mmeval.errors import MediaLimitError
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits, document_start, document_text
from mmeval.media.media import Media
from tests.support import tiny_media as tiny
from tests.support.decoders import every_page
from tests.support.tiny_media import drawn_table, pdf_of, scan, turned


def pdf(**options: int) -> Media:
    return Media.from_bytes(tiny.pdf("Hello", **options))  # type: ignore[arg-type]  # pages alone


def test_pages_are_rendered_counted_and_read_one_by_one() -> None:
    (page,) = decode.pages(pdf(), dpi=144)
    assert (page.mode, page.size, page.getextrema()[0]) == ("RGB", (400, 200), (0, 255))
    assert [
        page.size for page in decode.pages(pdf(pages=3), dpi=72, numbers=[2, 7])
    ] == [(200, 100)]
    assert decode.page_count(pdf(pages=2), limits=DecodeLimits(max_pages=2)) == 2
    assert document_text(pdf(pages=2)) == "Hello\nHello"
    assert document_start(pdf(pages=900), 8) == ("Hello\nHe", True)
    assert document_start(pdf(), 5) == ("Hello", False)
    with pytest.raises(MediaLimitError, match="max_pages = 1"):
        decode.page_count(pdf(pages=2), limits=DecodeLimits(max_pages=1))


def test_text_files_are_read_in_their_encoding_up_to_a_limit() -> None:
    for data in ("ä,1".encode(), "ä,1".encode("utf-16"), b"\xef\xbb\xbf\xc3\xa4,1"):
        media = Media.from_bytes(data, "a.csv")
        assert document_text(media) == "ä,1"
        assert (document_start(media, 3), document_start(media, 2)) == (
            ("ä,1", False),
            ("ä,", True),
        )
    for media in (Media.from_bytes(b"Hello"), pdf()):
        assert document_text(media, limits=DecodeLimits(max_text_chars=5)) == "Hello"
        with pytest.raises(MediaLimitError, match="max_text_chars = 4"):
            document_text(media, limits=DecodeLimits(max_text_chars=4))


def test_a_mesh_in_words_is_read_as_text() -> None:
    for text in ('{"asset": {"version": "2.0"}}', "#VRML V2.0 utf8", "v 1 2 3"):
        assert document_text(Media.from_bytes(text.encode())) == text


def test_pages_above_a_limit_are_refused() -> None:
    assert (
        every_page(
            Media.from_bytes(tiny.pdf()),
            limits=DecodeLimits(max_pages=1, max_drawn_pixels=80_000),
        )
        == 1
    )
    for data, limits, limit in (
        (tiny.pdf(pages=3), DecodeLimits(max_pages=2), "max_pages"),
        (tiny.pdf(), DecodeLimits(max_drawn_pixels=79_999), "max_drawn_pixels"),
        (tiny.pdf(), DecodeLimits(max_seconds=0.0), "max_seconds"),
    ):
        with pytest.raises(MediaLimitError, match=limit):
            every_page(Media.from_bytes(data), limits=limits)


def test_pieces_stand_where_a_turned_page_shows_them_and_very_many_are_read_line_by_line() -> (
    None
):
    for degrees, place in {
        0: (10, 41),
        90: (50, 10),
        180: (163, 50),
        270: (41, 163),
    }.items():
        ((box,),) = decode.page_boxes(Media.from_bytes(turned(degrees)))
        assert (box.left, box.top) == pytest.approx(place, abs=1)
        assert (box.right - box.left > box.bottom - box.top) == (degrees in (0, 180))
    pieces = [
        (10 + 33 * (index % 20), 785 - 7.7 * (index // 20), "x.5")
        for index in range(2000)
    ]
    (boxes,) = decode.page_boxes(Media.from_bytes(pdf_of(pieces)))
    assert (len(boxes), boxes[0][:4], boxes[1][:4]) == (100, (0, 0, 1, 1), (0, 1, 1, 2))
    assert boxes[0].text.startswith("x.5 x.5")
    assert list(decode.page_boxes(Media.from_bytes(scan(drawn_table([["x"]]))))) == [()]
