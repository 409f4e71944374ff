"""Reads the paragraphs and tables of office files: ``[text]``, or ``["", rows]``. Runs
in the decoding process.

Text and slides are read from the markup that python-docx and python-pptx have found and
parsed: what these offer themselves leaves out boxes of text, fields and changes, and
repeats merged cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

import docx
import pptx
import python_calamine

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_OTHERWISE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A repeated part of a drawing, for programs that cannot show the drawing."""
_WRITTEN = {"t": "", "tab": "\t", "br": "\n", "cr": "\n"}
"""Elements inside a paragraph, with the characters that they stand for; ``t`` for its
own text."""
_ROWS_A_BLOCK = 1000


def body_blocks(file: BinaryIO) -> Iterator[list[Any]]:
    """The paragraphs and tables of a Word document."""
    yield from _flow(_trusted(docx.Document(file).element), _WORD)


def slide_blocks(file: BinaryIO) -> Iterator[list[Any]]:
    """The paragraphs and tables of each slide."""
    for slide in pptx.Presentation(file).slides:
        yield from _flow(_trusted(slide.element), _DRAWN)


def sheet_blocks(file: BinaryIO) -> Iterator[list[Any]]:
    """Each sheet's name and its rows, unless it is empty."""
    with python_calamine.CalamineWorkbook.from_filelike(file) as book:
        for name in book.sheet_names:
            rows = map(_cells, book.get_sheet_by_name(name).iter_rows())
            filled = (row for row in rows if row)
            for number, block in enumerate(_tables(filled)):
                if not number:
                    yield [name]
                yield block


def _cells(row: list[Any]) -> list[str]:
    """The cells of a row up to its last one that holds anything; numbers as they are
    stored, not as they are shown."""
    cells: list[str] = []
    for value in row:
        text = str(value)
        if isinstance(value, bool):
            text = text.upper()
        elif isinstance(value, float):
            text = f"{value:.15g}"
        cells.append(" ".join(text.split()))
    while cells and not cells[-1]:
        del cells[-1]
    return cells


def _trusted(root: Any) -> Any:
    """Raises ValueError for markup with a document type: its entities would be left
    out."""
    if root.getroottree().docinfo.doctype:
        raise ValueError("its markup declares a document type")
    return root


def _flow(element: Any, names: str) -> Iterator[list[Any]]:
    """The paragraphs and tables of the markup of Word documents and slides.

    The elements ``p``, ``t``, ``tbl``, ``tr`` and ``tc`` are in the namespace
    ``names``. A table inside a cell becomes words of that cell; a box of text in a
    paragraph, a paragraph before it.
    """
    for child in element.iterchildren("*"):
        if child.tag == f"{names}tbl":
            for block in _tables(_rows(child, names)):
                if any(map(any, block[1])):
                    yield block
        elif child.tag != _OTHERWISE:
            yield from _flow(child, names)
            text = _text(child, names).strip() if child.tag == f"{names}p" else ""
            if text:
                yield [text]


def _text(element: Any, names: str) -> str:
    """The text of a paragraph without the boxes in it."""
    words = []
    for child in element.iterchildren("*"):
        tag = child.tag.removeprefix(names)
        if tag in _WRITTEN:
            words.append(_WRITTEN[tag] or child.text or "")
        elif tag not in ("p", "tbl", _OTHERWISE):
            words.append(_text(child, names))
    return "".join(words)


def _nearest(
    element: Any,
    tag: str,
    names: str,
) -> Iterator[Any]:
    """The elements of a name inside one, without those of a table in it."""
    for child in element.iterchildren("*"):
        if child.tag == f"{names}{tag}":
            yield child
        elif child.tag not in (f"{names}tbl", _OTHERWISE):
            yield from _nearest(child, tag, names)


def _rows(table: Any, names: str) -> Iterator[list[str]]:
    for row in _nearest(table, "tr", names):
        cells: list[str] = []
        for cell in _nearest(row, "tc", names):
            words: list[str] = []
            for text, *tables in _flow(cell, names):
                words.append(text)
                for inner in tables:
                    for inner_row in inner:
                        words += inner_row
            cells.append(" ".join(" ".join(words).split()))
        yield cells


def _tables(rows: Iterable[list[str]]) -> Iterator[list[Any]]:
    """Rows as tables of no more than so many each."""
    rows = iter(rows)
    while block := list(islice(rows, _ROWS_A_BLOCK)):
        yield ["", block]
