from __future__ import annotations

import pytest

from mmeval.decode import DecodeLimits, document_start, document_text
from mmeval.errors import CorruptMediaError, MediaLimitError
from mmeval.media import Media
from tests.support.tiny_media import word, zipped


def test_paragraphs_are_lines() -> None:
    assert document_text(Media.from_bytes(word("Dear <b>guest</b>,", "", "welcome & goodbye"))) == (
        "Dear <b>guest</b>,\n\nwelcome & goodbye\n"
    )


def test_the_cells_of_a_table_are_apart() -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    row = f"<w:tbl><w:tr>{cell.format('a')}{cell.format('b')}</w:tr></w:tbl>"
    assert document_text(Media.from_bytes(word(xml=row))).split() == ["a", "b"]


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
def test_a_damaged_document_is_told(data: bytes) -> None:
    with pytest.raises(CorruptMediaError):
        document_text(Media.from_bytes(data, "a.docx"))


def test_entities_do_not_grow_without_end() -> None:
    lines = ['<!ENTITY a0 "ha">', *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12))]
    bomb = word(xml="<w:p><w:r><w:t>&a11;</w:t></w:r></w:p>", head=f"<!DOCTYPE x [{''.join(lines)}]>")
    with pytest.raises((CorruptMediaError, MediaLimitError)):
        document_text(Media.from_bytes(bomb))
