from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mmeval.content.media import Media
from mmeval.decode import Block, DecodeLimits, OfficeTable, document_start, document_text, office_blocks
from mmeval.errors import CorruptMediaError, MediaLimitError
from tests.support.documents import packed, row, slides, words_in, workbook
from tests.support.tiny_media import word, zipped

CELL = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
ROW = f"<w:tr>{CELL.format('a')}{CELL.format('b')}</w:tr>"
FILES = {
    "a.docx": word("Dear guest"),
    "a.xlsx": workbook({"Food": row(1, words_in("A1", "x"))}),
    "a.pptx": slides("<a:p><a:r><a:t>First</a:t></a:r></a:p>"),
}


def blocks(data: bytes, limits: DecodeLimits | None = None) -> list[Block]:
    return list(office_blocks(Media.from_bytes(data), limits=limits or DecodeLimits()))


def test_paragraphs_and_tables_of_a_word_document_stand_in_order() -> None:
    paragraph = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    xml = f"{paragraph.format('before')}<w:tbl>{ROW}{ROW}</w:tbl>{paragraph.format('')}{paragraph.format('after')}"

    assert blocks(word(xml=xml)) == ["before", OfficeTable((("a", "b"), ("a", "b"))), "after"]


def test_paragraphs_of_a_cell_and_tables_in_it_are_words_of_the_cell() -> None:
    inner = "<w:p><w:r><w:t>one</w:t></w:r></w:p><w:p><w:r><w:t>two</w:t></w:r></w:p>"
    xml = f"<w:tbl><w:tr><w:tc>{inner}<w:tbl>{ROW}</w:tbl></w:tc>{CELL.format('c')}</w:tr></w:tbl>"

    assert blocks(word(xml=xml)) == [OfficeTable((("one two a b", "c"),))]


BOX = "<w:txbxContent><w:p><w:r><w:t>box</w:t></w:r></w:p></w:txbxContent>"
DRAWN = (
    '<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
    f"<mc:Choice>{BOX}</mc:Choice><mc:Fallback>{BOX}<w:tbl>{ROW}</w:tbl></mc:Fallback></mc:AlternateContent></w:r>"
)


def test_a_box_of_text_is_a_paragraph_of_its_own_and_comes_once() -> None:
    run = "<w:r><w:t>{}</w:t></w:r>"
    xml = f"<w:p>{run.format('before ')}{DRAWN}{run.format('after')}</w:p>"

    assert blocks(word(xml=xml)) == ["box", "before after"]


def test_words_outside_of_paragraphs_are_none() -> None:
    assert blocks(word(xml="<w:t>lost</w:t><w:p><w:r><w:t>found</w:t></w:r></w:p>")) == ["found"]


def test_slides_come_in_the_order_in_which_they_are_shown() -> None:
    text = "<a:p><a:r><a:t>{}</a:t></a:r></a:p>"
    cell = f"<a:tc>{text.format('x')}</a:tc>"

    found = blocks(slides(text.format("First"), f"<a:tbl><a:tr>{cell}{cell}</a:tr></a:tbl>{text.format('Last')}"))

    assert found == ["First", OfficeTable((("x", "x"),)), "Last"]


def test_a_long_table_comes_whole() -> None:
    found = blocks(word(xml=f"<w:tbl>{ROW * 2500}</w:tbl>"))

    assert [block for block in found if isinstance(block, str)] == []
    assert sum(len(block.rows) for block in found if isinstance(block, OfficeTable)) == 2500


def test_there_is_no_more_of_it_than_the_limits_allow() -> None:
    long = word("word " * 500)
    empty = workbook({"Food": "".join(row(at, words_in(f"XFD{at}", "x")) for at in range(1, 60))})

    for data in (long, empty):
        with pytest.raises(MediaLimitError, match="max_text_chars"):
            blocks(data, DecodeLimits(max_text_chars=2000))


@pytest.mark.parametrize(
    "data",
    [
        word("x", xml="<w:p><w:r>"),
        word("x")[:-40],
        packed({"word/document.other": ""}),
        packed({"xl/workbook.xml": "<workbook/"}),
        workbook({"a": '<row r="1"><c r="A1" t="s"><v>7</v></c></row>'}),
        workbook({"a": '<row r="1"><c r="A1" t="s"><v>-1</v></c></row>'}, strings=["x"]),
        workbook({"a": row(1, words_in("B1", "x"), words_in("A1", "y"))}),
        packed({"ppt/presentation.xml": '<p:presentation xmlns:p="x"/>'})[:-9],
    ],
    ids=[
        "markup",
        "cut short",
        "no body",
        "book",
        "no such string",
        "a string before the first",
        "places that go back",
        "slides cut short",
    ],
)
def test_a_damaged_document_is_told(data: bytes) -> None:
    with pytest.raises(CorruptMediaError):
        blocks(data)


def test_entities_do_not_grow_without_end() -> None:
    lines = ['<!ENTITY a0 "ha">', *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))]
    bomb = word(xml="<w:p><w:r><w:t>&a11;</w:t></w:r></w:p>", head=f"<!DOCTYPE x [{''.join(lines)}]>")

    with pytest.raises((CorruptMediaError, MediaLimitError)):
        blocks(bomb)


def test_what_is_no_office_file_is_told() -> None:
    with pytest.raises(CorruptMediaError, match="text/plain"):
        blocks(b"words")


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(name=st.sampled_from(sorted(FILES)), at=st.floats(0, 1), byte=st.integers(0, 255), cut=st.floats(0.5, 1))
def test_whatever_becomes_of_a_file_it_ends_in_blocks_or_a_typed_error(
    name: str, at: float, byte: int, cut: float
) -> None:
    data = bytearray(FILES[name])
    data[int(at * (len(data) - 1))] = byte
    mime = Media.from_bytes(FILES[name]).mime

    try:
        found = list(office_blocks(Media(data=bytes(data[: int(cut * len(data))]), mime=mime, size=1)))
    except (CorruptMediaError, MediaLimitError):
        return
    assert all(isinstance(block, str | OfficeTable) for block in found)


def test_paragraphs_are_lines_of_the_words() -> None:
    assert document_text(Media.from_bytes(word("Dear <b>guest</b>,", "", "welcome & goodbye"))) == (
        "Dear <b>guest</b>,\nwelcome & goodbye\n"
    )


def test_the_cells_of_a_row_are_apart_in_the_words() -> None:
    assert document_text(Media.from_bytes(word(xml=f"<w:tbl>{ROW}</w:tbl>"))) == "a\tb\n"


@pytest.mark.parametrize(
    ("name", "words"), [("a.docx", "Dear guest\n"), ("a.pptx", "First\n"), ("a.xlsx", "Food\nx\n")]
)
def test_every_kind_of_office_document_has_words(name: str, words: str) -> None:
    assert document_text(Media.from_bytes(FILES[name], name)) == words


def test_only_as_much_is_read_as_is_wanted() -> None:
    medium = Media.from_bytes(word(*["word " * 100] * 100))
    assert document_start(medium, 9) == ("word word", True)
    with pytest.raises(MediaLimitError, match="max_text_chars"):
        document_text(medium, limits=DecodeLimits(max_text_chars=1000))


@pytest.mark.parametrize(
    "data",
    [word("x", xml="<w:p><w:r>"), word("x")[:-40], zipped("word/document.other")],
    ids=["broken markup", "cut short", "no body"],
)
def test_the_words_of_a_damaged_document_are_told(data: bytes) -> None:
    with pytest.raises(CorruptMediaError):
        document_text(Media.from_bytes(data, "a.docx"))
