"""Reads the blocks of office files: paragraphs as ``[text]``, tables as ``["", rows]``.

This module runs in the decoding process. Text and slides are read from the markup that
python-docx and python-pptx parse. The text functions of these libraries are not used,
because they leave out text boxes, fields and changes, and repeat merged cells.
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
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A copy of a drawing's content for programs that cannot show the drawing."""
_CHARACTERS = {"t": "", "tab": "\t", "br": "\n", "cr": "\n"}
"""The characters that elements in a paragraph stand for. The text of an element ``t``
is in the element itself."""
_ROWS_A_BLOCK = 1000


def body_blocks(file: BinaryIO) -> Iterator[list[Any]]:
    """Yields the paragraphs and tables of a Word document."""
    yield from _flow(_trusted(docx.Document(file).element), _WORD)


def slide_blocks(file: BinaryIO) -> Iterator[list[Any]]:
    """Yields the paragraphs and tables of each slide."""
    for slide in pptx.Presentation(file).slides:
        yield from _flow(_trusted(slide.element), _DRAWN)


def sheet_blocks(file: BinaryIO) -> Iterator[list[Any]]:
    """Yields the name and the rows of each sheet that is not empty."""
    with python_calamine.CalamineWorkbook.from_filelike(file) as book:
        for name in book.sheet_names:
            rows = map(_cells, book.get_sheet_by_name(name).iter_rows())
            filled = (row for row in rows if row)
            for number, block in enumerate(_tables(filled)):
                if not number:
                    yield [name]
                yield block


def _cells(row: list[Any]) -> list[str]:
    """Returns the cells of a row, without empty cells at its end.

    Numbers are returned as stored, not as displayed.
    """
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
    """Raises ValueError for markup with a document type.

    Such markup may declare entities, which would be ignored.
    """
    if root.getroottree().docinfo.doctype:
        raise ValueError("its markup declares a document type")
    return root


def _flow(element: Any, names: str) -> Iterator[list[Any]]:
    """Yields the paragraphs and tables in the markup of Word documents and slides.

    The elements ``p``, ``t``, ``tbl``, ``tr`` and ``tc`` are in the namespace
    ``names``. A table in a cell becomes text of the cell. A text box in a paragraph
    becomes a paragraph before it.
    """
    for child in element.iterchildren("*"):
        if child.tag == f"{names}tbl":
            for block in _tables(_rows(child, names)):
                if any(map(any, block[1])):
                    yield block
        elif child.tag != _FALLBACK:
            yield from _flow(child, names)
            text = _text(child, names).strip() if child.tag == f"{names}p" else ""
            if text:
                yield [text]


def _text(element: Any, names: str) -> str:
    """Returns the text of a paragraph, without the text boxes in it."""
    words = []
    for child in element.iterchildren("*"):
        tag = child.tag.removeprefix(names)
        if tag in _CHARACTERS:
            words.append(_CHARACTERS[tag] or child.text or "")
        elif tag not in ("p", "tbl", _FALLBACK):
            words.append(_text(child, names))
    return "".join(words)


def _nearest(
    element: Any,
    tag: str,
    names: str,
) -> Iterator[Any]:
    """Yields the elements with a tag inside ``element``.

    Elements in a nested table are left out.
    """
    for child in element.iterchildren("*"):
        if child.tag == f"{names}{tag}":
            yield child
        elif child.tag not in (f"{names}tbl", _FALLBACK):
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
    """Yields the rows as tables of at most ``_ROWS_A_BLOCK`` rows."""
    rows = iter(rows)
    while block := list(islice(rows, _ROWS_A_BLOCK)):
        yield ["", block]
