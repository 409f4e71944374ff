import pytest

from mmeval.content.media import Media
from mmeval.decode import Block, DecodeLimits, OfficeTable, document_start, document_text, office_blocks
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support.documents import row, slides, words_in, workbook
from tests.support.tiny_media import packed, word

CELL = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
ROW = f"<w:tr>{CELL.format('a')}{CELL.format('b')}</w:tr>"
LINE = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
SHOWN = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
BOX = f"<w:txbxContent>{LINE.format('box')}</w:txbxContent>"
DRAWN = (
    '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    f"<mc:Choice>{BOX}</mc:Choice><mc:Fallback>{BOX}<w:tbl>{ROW}</w:tbl></mc:Fallback></mc:AlternateContent></w:r>"
)
INNER = f"<w:tc>{LINE.format('one')}{LINE.format('two')}<w:tbl>{ROW}</w:tbl></w:tc>{CELL.format('c')}"
BREAKS = "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t></w:r></w:p>"
WORDS: dict[str, tuple[str, list[Block]]] = {
    "in order": (
        f"{LINE.format('before')}<w:tbl>{ROW}{ROW}</w:tbl>{LINE.format('')}{LINE.format('after')}",
        ["before", OfficeTable((("a", "b"), ("a", "b"))), "after"],
    ),
    "a table in a cell": (f"<w:tbl><w:tr>{INNER}</w:tr></w:tbl>", [OfficeTable((("one two a b", "c"),))]),
    "a box, once": (f"<w:p><w:r><w:t>in </w:t></w:r>{DRAWN}<w:r><w:t>two</w:t></w:r></w:p>", ["box", "in two"]),
    "outside": (f"<w:t>lost</w:t>{LINE.format('found')}", ["found"]),
    "breaks": (BREAKS, ["a\tb\nc\nd"]),
    "an empty table": (f"<w:tbl><w:tr>{CELL.format('')}</w:tr></w:tbl>", []),
    "long": (f"<w:tbl>{ROW * 1500}</w:tbl>", [OfficeTable((("a", "b"),) * 1000), OfficeTable((("a", "b"),) * 500)]),
}
LAUGHS = "".join(['<!ENTITY a0 "ha">', *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))])
DAMAGED = {
    "markup": word("x", xml="<w:p><w:r>"),
    "cut short": word("x")[:-40],
    "no body": packed({"word/document.other": ""}),
    "book": packed({"xl/workbook.xml": "<workbook/"}),
    **{f"string {n}": workbook({"a": row(1, f'<c t="s"><v>{n}</v></c>')}, strings=["x"]) for n in (1, -1)},
    "places that go back": workbook({"a": row(1, words_in("B1", "x"), words_in("A1", "y"))}),
    "a column too many": workbook({"a": row(1, words_in("XFE1", "x"))}),
    "slides cut short": packed({"ppt/presentation.xml": '<p:presentation xmlns:p="x"/>'})[:-9],
    "words": b"words",
}


def blocks(data: bytes, limits: DecodeLimits | None = None) -> list[Block]:
    return list(office_blocks(Media.from_bytes(data), limits=limits or DecodeLimits()))


def test_paragraphs_tables_and_slides_are_read_in_their_order() -> None:
    for xml, found in WORDS.values():
        assert blocks(word(xml=xml)) == found
    cell = f"<a:tc>{SHOWN.format('x')}</a:tc>"
    last = f"<a:tbl><a:tr>{cell}{cell}</a:tr></a:tbl>{SHOWN.format('Last')}"
    assert blocks(slides(SHOWN.format("First"), last)) == ["First", OfficeTable((("x", "x"),)), "Last"]


def test_there_is_no_more_of_it_than_the_limits_allow() -> None:
    book = workbook({"Food": row(1, words_in("A1", "x"), words_in("B1", "y"))})
    for data, chars in ((word("word", "word"), 16), (book, 22), (slides(SHOWN.format("First")), 9)):
        assert blocks(data, DecodeLimits(max_text_chars=chars + 100))
        with pytest.raises(MediaLimitError, match="max_text_chars"):
            blocks(data, DecodeLimits(max_text_chars=chars - 1))
    markup = "<w:p></w:p>" * 100  # bytes of an entry are limited as well
    data = word(xml=f"{LINE.format('word')}<w:tbl>{ROW}</w:tbl>{markup}")
    limits = DecodeLimits(max_text_chars=4 + 4 + (1 + 4) * 2 + 4)
    with pytest.raises(MediaLimitError, match=f"= {limits.max_text_chars * 40}"):
        blocks(data, limits)
    assert blocks(word("word " * 40), DecodeLimits(max_text_chars=203))
    with pytest.raises(MediaLimitError, match="203 characters found"):
        blocks(word("word " * 40), DecodeLimits(max_text_chars=202))


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_document_is_a_typed_error(name: str) -> None:
    with pytest.raises(CorruptMediaError):
        blocks(DAMAGED[name])
    assert blocks(workbook({"a": row(1, words_in("XFD1", "x"))}))


def test_paragraphs_and_rows_are_lines_of_the_words_and_entities_do_not_grow_without_end() -> None:
    for data, words in (
        (word("Dear <b>guest</b>,", "", "welcome & goodbye"), "Dear <b>guest</b>,\nwelcome & goodbye\n"),
        (word(xml=f"<w:tbl>{ROW}</w:tbl>"), "a\tb\n"),
        (workbook({"Food": row(1, words_in("A1", "x"))}), "Food\nx\n"),
    ):
        media = Media.from_bytes(data)
        assert document_text(media) == words
        assert (document_start(media, len(words)), document_start(media, 2)) == ((words, False), (words[:2], True))
        with pytest.raises(MediaLimitError, match="max_text_chars"):
            document_text(media, limits=DecodeLimits(max_text_chars=len(words) - 1))
    with pytest.raises((CorruptMediaError, MediaLimitError)):
        blocks(word(xml=LINE.format("&a11;"), head=f"<!DOCTYPE x [{LAUGHS}]>"))
