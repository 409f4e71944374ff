from collections.abc import Iterator

import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media import Media
from mmeval.media.decode import DEFAULT_LIMITS, DecodeLimits, TextBox
from mmeval.metrics.document import ocr, reading
from mmeval.metrics.document.reading import (
    NoOcrError,
    document_markdown,
    picture_markdown,
    table_rows,
)
from tests.support import tiny_media

IN_COLUMNS = [
    (50, 700, "a"),
    (250, 700, "b"),
    (50, 680, "1"),
    (250, 680, "2"),
    (50, 600, "Dear all"),
]
TABLE = "| a | b |\n| --- | --- |\n| 1 | 2 |"
CELL = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"


def read(data: bytes, name: str = "", **options: str) -> str:
    return document_markdown(Media.from_bytes(data, name), DEFAULT_LIMITS, **options)  # type: ignore[arg-type]


@pytest.fixture
def eyes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """OCR that finds the same in every picture; the sizes of these."""
    seen: list[tuple[int, int]] = []

    def words(picture: object) -> list[TextBox]:
        seen.append(picture.size)  # type: ignore[attr-defined]
        grid = [("a", 0, 0), ("b", 100, 0), ("1", 0, 30), ("2", 100, 30)]
        return [
            TextBox(left, top, left + 10, top + 10, text) for text, left, top in grid
        ]

    monkeypatch.setattr(ocr, "read_words", words)
    return seen


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"a,b\n1,2\n", "a.csv", TABLE),
        (b"a\tb\n1\t2", "a.tsv", TABLE),
        (b"\xef\xbb\xbfa;b\r\n1;2\r\n", "", TABLE),
        (b'a,b\n"1",2\n', "a.txt", TABLE),
        (b"a  b\n1  2\n", "a.txt", TABLE),
        (
            b"# Title\n\n- one   x\n- two   y\n",
            "a.md",
            "# Title\n\n- one   x\n- two   y",
        ),
        (b"| a   | b   |\n|-----|-----|\n", "a.txt", "| a   | b   |\n|-----|-----|"),
        (
            b"Dear all, how\nAre you, then\nI am, too\n",
            "a.txt",
            "Dear all, how\nAre you, then\nI am, too",
        ),
        (
            b"My fruit\na,b\n1,2,3\n",
            "a.csv",
            "| My fruit |\n| --- |\n| a | b |\n| 1 | 2 | 3 |",
        ),
        (b"a;b\n1,5;2;3\n", "a.csv", "| a | b |\n| --- | --- |\n| 1,5 | 2 | 3 |"),
        (b"a\nb\nc,d\n", "a.csv", "a\nb\nc,d"),
        (tiny_media.word("Dear <all>"), "", "Dear <all>"),
        (
            tiny_media.word(
                xml=f"<w:tbl><w:tr>{CELL.format('a')}{CELL.format('b')}</w:tr></w:tbl>"
            ),
            "",
            TABLE[:23],
        ),
        (tiny_media.pdf("Hello"), "", "Hello"),
        (tiny_media.pdf_of(IN_COLUMNS), "", f"{TABLE}\n\nDear all"),
        (
            tiny_media.workbook(
                {"S": tiny_media.row(1, tiny_media.words_in("A1", "x"))}
            ),
            "",
            "S\n\n| x |\n| --- |",
        ),
        (tiny_media.slides("<a:p><a:r><a:t>One</a:t></a:r></a:p>"), "", "One"),
        (b"%PDF-1.4 no", "", None),
        (tiny_media.word("x")[:-30], "a.docx", None),
    ],
)
def test_a_document_is_read_by_what_it_is(
    data: bytes, name: str, said: str | None
) -> None:
    if said is None:
        with pytest.raises(CorruptMediaError):
            read(data, name)
    else:
        assert read(data, name) == said


def test_pictures_and_pages_without_words_are_read_by_ocr(
    eyes: list[tuple[int, int]],
) -> None:
    picture = tiny_media.drawn_table([["x"]])
    assert read(tiny_media.as_png(picture)) == read(tiny_media.scan(picture)) == TABLE
    assert eyes[0] == picture.size
    assert eyes[1][0] == pytest.approx(picture.size[0] * 150 / 72, abs=2)
    # the release reads the lines of a picture as one table
    assert (
        picture_markdown(Media.from_bytes(tiny_media.picture()), DEFAULT_LIMITS)
        == TABLE
    )


def test_text_layers_go_first_and_a_scan_is_cut(
    eyes: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def layers(media: Media, limits: DecodeLimits) -> Iterator[tuple[TextBox, ...]]:
        yield from [()] * 12
        assert eyes == []

    monkeypatch.setattr(reading, "page_boxes", layers)
    read(tiny_media.pdf(pages=12))
    assert len(eyes) == reading.MAX_PAGES_READ == 8


def test_limits_of_decoding_hold_and_a_text_of_equal_rows_is_a_table() -> None:
    for picture in (
        tiny_media.picture(),
        tiny_media.scan(tiny_media.drawn_table([["x"]])),
    ):
        with pytest.raises(NoOcrError):  # not damaged
            read(picture, ocr="none")
    assert reading.MAX_CHARS == 40_000
    assert 40_000 <= len(read(tiny_media.word(*["word " * 200] * 2000))) < 42_000
    with pytest.raises(MediaLimitError):
        document_markdown(Media.from_bytes(b"words"), DecodeLimits(max_text_chars=4))
    rows = {
        "a,b\n\n1,2\n": 2,
        'a,"b\nc"\n1,2': 2,
        "a,b\n1,2,3\n4,5": 0,
        "Hello, you\nThere, too, now": 0,
        "a,b": 0,
    }
    rows |= {
        "words\nwords": 0,
        "a,b\n1": 0,
        "x" * 200_000 + ",1\n2,3": 0,
        "12,3456789\n" * 20_000: 7272,
    }
    assert [len(table_rows(text)) for text in rows] == list(rows.values())
