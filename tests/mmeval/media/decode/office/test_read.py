import io
import zipfile

import pytest

from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media.decode import (
    Block,
    DecodeLimits,
    OfficeTable,
    document_start,
    document_text,
    office_blocks,
)
from mmeval.media.media import Media
from mmeval.media.zip_type import DOCX
from tests.support.tiny_media import (
    OLD_WORKBOOK,
    number_in,
    open_workbook,
    packed,
    row,
    slides,
    with_types,
    word,
    words_in,
    workbook,
)

CELL = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
ROW = f"<w:tr>{CELL.format('a')}{CELL.format('b')}</w:tr>"
LINE = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
SHOWN = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
BOX = f"<w:txbxContent>{LINE.format('box')}</w:txbxContent>"
DRAWN = (
    "<w:r><mc:AlternateContent "
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    f"<mc:Choice>{BOX}</mc:Choice><mc:Fallback>{BOX}<w:tbl>{ROW}</w:tbl></mc:"
    "Fallback></mc:AlternateContent></w:r>"
)
INNER = (
    f"<w:tc>{LINE.format('one')}{LINE.format('two')}<w:tbl>{ROW}</w:tbl></w:"
    f"tc>{CELL.format('c')}"
)
BREAKS = (
    "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</"
    "w:t></w:r></w:p>"
)
WORDS: dict[str, tuple[str, list[Block]]] = {
    "in order": (
        f"{LINE.format('before')}<w:tbl>{ROW}{ROW}</w:"
        f"tbl>{LINE.format('')}{LINE.format('after')}",
        ["before", OfficeTable((("a", "b"), ("a", "b"))), "after"],
    ),
    "a table in a cell": (
        f"<w:tbl><w:tr>{INNER}</w:tr></w:tbl>",
        [OfficeTable((("one two a b", "c"),))],
    ),
    "a box, once": (
        f"<w:p><w:r><w:t>in </w:t></w:r>{DRAWN}<w:r><w:t>two</w:t></w:r></w:p>",
        ["box", "in two"],
    ),
    "outside": (f"<w:t>lost</w:t>{LINE.format('found')}", ["found"]),
    "breaks": (BREAKS, ["a\tb\nc\nd"]),
    "an empty table": (f"<w:tbl><w:tr>{CELL.format('')}</w:tr></w:tbl>", []),
    "long": (
        f"<w:tbl>{ROW * 1500}</w:tbl>",
        [OfficeTable((("a", "b"),) * 1000), OfficeTable((("a", "b"),) * 500)],
    ),
}
LAUGHS = "".join(
    [
        '<!ENTITY a0 "ha">',
        *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)),
    ]
)
SIZE = zipfile.ZipFile(io.BytesIO(word("x"))).getinfo("word/document.xml").file_size
DAMAGED = {
    "markup": word("x", xml="<w:p><w:r>"),
    "cut short": word("x")[:-40],
    "no body": with_types(f"{DOCX}.main+xml"),
    "book": packed({"xl/workbook.xml": "<workbook/"}),
    "a string that is not there": workbook(
        {"a": row(1, '<c t="s"><v>1</v></c>')}, strings=["x"]
    ),
    "an entity": word(
        xml=LINE.format("&a;"),
        head='<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
    ),
    "entities that grow": word(
        xml=LINE.format("&a11;"), head=f"<!DOCTYPE x [{LAUGHS}]>"
    ),
    "more than it declares": word("x").replace(
        SIZE.to_bytes(4, "little"), (SIZE - 9).to_bytes(4, "little")
    ),
    "slides cut short": packed(
        {"ppt/presentation.xml": '<p:presentation xmlns:p="x"/>'}
    )[:-9],
    "words": b"words",
}


def with_entry(package: bytes, content: bytes) -> bytes:
    """The package with one more file, stored without compression, as charts have."""
    file = io.BytesIO(package)
    with zipfile.ZipFile(file, "a") as out:
        out.writestr("ppt/embeddings/sheet.xlsx", content)
    return file.getvalue()


def blocks(data: bytes, limits: DecodeLimits | None = None) -> list[Block]:
    return list(office_blocks(Media.from_bytes(data), limits=limits or DecodeLimits()))


def test_paragraphs_tables_and_slides_are_read_in_their_order() -> None:
    for xml, expected in WORDS.values():
        assert blocks(word(xml=xml)) == expected
    cell = f"<a:tc>{SHOWN.format('x')}</a:tc>"
    last = f"<a:tbl><a:tr>{cell}{cell}</a:tr></a:tbl>{SHOWN.format('Last')}"
    assert blocks(slides(SHOWN.format("First"), last)) == [
        "First",
        OfficeTable((("x", "x"),)),
        "Last",
    ]


def test_there_is_no_more_of_it_than_the_limits_allow() -> None:
    book = workbook({"Food": row(1, words_in("A1", "x"), words_in("B1", "y"))})
    for data, chars in (
        (word("word", "word"), 16),
        (book, 22),
        (slides(SHOWN.format("First")), 9),
    ):
        assert blocks(data, DecodeLimits(max_text_chars=chars + 100))
        with pytest.raises(MediaLimitError, match="max_text_chars"):
            blocks(data, DecodeLimits(max_text_chars=chars - 1))
    markup = word(xml="<w:p></w:p>" * 1000)  # of what is packed as well
    with pytest.raises(MediaLimitError, match="max_bytes"):
        blocks(markup, DecodeLimits(max_bytes=10_000))
    assert blocks(word("word " * 40), DecodeLimits(max_text_chars=203))
    with pytest.raises(MediaLimitError, match="203 characters found"):
        blocks(word("word " * 40), DecodeLimits(max_text_chars=202))


def test_slides_with_a_workbook_inside_are_slides() -> None:
    inside = workbook({"Food": row(1, words_in("A1", "x"))})
    assert blocks(with_entry(slides(SHOWN.format("First")), inside)) == ["First"]


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_document_is_a_typed_error(name: str) -> None:
    with pytest.raises(CorruptMediaError):
        blocks(DAMAGED[name])
    assert blocks(workbook({"a": row(1, words_in("XFD1", "x"))}))


def test_cells_beyond_the_memory_of_a_step_are_a_limit() -> None:
    rows = row(1, words_in("A1", "x")) + row(1048576, words_in("XFD1048576", "y"))
    with pytest.raises(MediaLimitError):
        blocks(workbook({"a": rows}))


STYLES = (
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="10"/><xf numFmtId="14"/><xf '
    'numFmtId="22"/><xf numFmtId="20"/></cellXfs>'
)


def test_cells_of_every_kind_of_workbook_stand_in_their_columns_with_what_is_stored() -> (
    None
):
    first = row(
        1, words_in("B1", "Share | of"), words_in("D1", "Salt"), words_in("AB1", "far")
    )
    second = (
        number_in("A3", 0.256, 1),
        number_in("B3", 7.0),
        number_in("C3", 0.1 + 0.2),
        number_in("D3", 45413.0, 2),
    )
    third = (
        number_in("A4", 45413.5, 3),
        number_in("B4", 0.5, 4),
        '<c t="b"><v>1</v></c>',
        '<c t="s"><v>0</v></c>',
    )
    book = workbook(
        {
            "Food": first + row(3, *second) + row(4, *third),
            "Empty": "",
            "S": row(1, '<c t="e"><v>#N/A</v></c>'),
        },
        strings=["zero"],
        styles=STYLES,
    )
    rows = (
        ("", "Share | of", "", "Salt", *[""] * 23, "far"),
        ("0.256", "7", "0.3", "2024-05-01"),
    )
    assert blocks(book) == [
        "Food",
        OfficeTable((*rows, ("2024-05-01 12:00:00", "12:00:00", "TRUE", "zero"))),
    ]
    assert blocks(OLD_WORKBOOK.read_bytes()) == [
        "Food",
        OfficeTable((("x", "0.25"), ("2024-05-01", "TRUE"))),
    ]
    cell = (
        "<table:table-cell "
        'office:value-type="string"><text:p>x</text:p></table:table-cell>'
    )
    assert blocks(open_workbook(f"<table:table-row>{cell}</table:table-row>")) == [
        "S",
        OfficeTable((("x",),)),
    ]


def test_paragraphs_and_rows_are_lines_of_the_words_() -> None:
    for data, words in (
        (
            word("Dear <b>guest</b>,", "", "welcome & goodbye"),
            "Dear <b>guest</b>,\nwelcome & goodbye\n",
        ),
        (word(xml=f"<w:tbl>{ROW}</w:tbl>"), "a\tb\n"),
        (workbook({"Food": row(1, words_in("A1", "x"))}), "Food\nx\n"),
    ):
        media = Media.from_bytes(data)
        assert document_text(media) == words
        assert (document_start(media, len(words)), document_start(media, 2)) == (
            (words, False),
            (words[:2], True),
        )
        with pytest.raises(MediaLimitError, match="max_text_chars"):
            document_text(media, limits=DecodeLimits(max_text_chars=len(words) - 1))
