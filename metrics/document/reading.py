"""Reads documents as Markdown: cells, paragraphs, and lines of words.

An OCR engine reads pictures.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Literal, TypeAlias

from mmeval.errors import MediaLimitError
from mmeval.media import Media
from mmeval.media.decode import (
    OFFICE,
    Block,
    DecodeLimits,
    OfficeTable,
    TextBox,
    document_text,
    image,
    office_blocks,
    page_boxes,
    pages,
)
from mmeval.metrics.document.boxes import joined_lines
from mmeval.metrics.document.tables import blocks_of, markdown, released_markdown

Rows: TypeAlias = tuple[tuple[str, ...], ...]
Ocr = Literal["rapidocr", "none"]
"""The engine that reads pictures."""
MAX_CHARS = 40_000
"""Maximum number of characters of a document's Markdown that are used."""
MAX_PAGES_READ = 8
"""Maximum number of pages of a document that are read by OCR."""
OCR_DPI = 150.0
NO_OCR = "OCR is switched off (ocr: none)"
_PDF = "application/pdf"
_CSV = "text/csv"
_DELIMITERS = ",\t;"
_PROSE = re.compile(r",(?:\s|$)")


class NoOcrError(MediaLimitError):
    """A picture of text requires OCR, which is switched off."""


def document_markdown(
    media: Media, limits: DecodeLimits, *, ocr: Ocr = "rapidocr"
) -> str:
    """Returns at least the first ``MAX_CHARS`` characters of a document as Markdown.

    The result is empty if the document contains no words. Tables in office files, texts
    that are entirely CSV, and lines that look like rows become tables. OCR reads
    pictures and pages without a text layer. Raises the errors of
    ``mmeval.media.decode``, NoOcrError if OCR is required but switched off, and
    MissingExtraError if the OCR package is missing.
    """
    if media.kind == "image":
        return markdown(blocks_of(_read_picture(media, limits, ocr)))
    if media.mime == _PDF:
        return markdown(_enough(_pdf_blocks(media, limits, ocr)))
    if media.mime in OFFICE:
        return markdown(_enough(office_blocks(media, limits=limits)))
    text = document_text(media, limits=limits)
    if media.mime not in ("text/plain", _CSV):
        return text.strip()  # Markdown and similar texts
    rows = table_rows(text, is_csv=media.mime == _CSV)
    if rows:
        return markdown([OfficeTable(rows)])
    return markdown(blocks_of(text[: 2 * MAX_CHARS].splitlines()))


def picture_markdown(media: Media, limits: DecodeLimits) -> str:
    """Returns a picture's words as a table with one row per line, as in the release.

    Raises the errors of ``document_markdown``.
    """
    return released_markdown(_read_picture(media, limits, "rapidocr"))


def table_rows(text: str, *, is_csv: bool = False) -> Rows:
    """Returns the rows of a text that is entirely a table, and no rows for other texts.

    The separator is a comma, a tab or a semicolon. All rows have the same number of
    cells, at least two. A text with spaces or line ends after its commas is not a
    table. With ``is_csv`` such spaces are allowed, and only most rows must have two or
    more cells.
    """
    stripped = text.strip("\ufeff\r\n ")
    start = stripped[: 2 * MAX_CHARS]
    ragged: Rows = ()
    for delimiter in _DELIMITERS:
        if delimiter == "," and not is_csv and _PROSE.search(start):
            continue
        rows = _split_at(delimiter, start)
        if len(start) < len(stripped):
            rows = rows[:-1]  # the last row is incomplete
        is_even = len(set(map(len, rows))) == 1
        if is_even and len(rows) > 1 and len(rows[0]) > 1:
            return rows
        if _split_rows(rows) > max(len(rows) / 2, _split_rows(ragged), 1):
            ragged = rows
    if is_csv:
        return ragged
    return ()


def _split_at(delimiter: str, text: str) -> Rows:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[str, ...]] = []
    try:
        for row in reader:
            if any(row):
                rows.append(tuple(map(str.strip, row)))
    except csv.Error:
        return ()
    return tuple(rows)


def _split_rows(rows: Rows) -> int:
    return sum(len(row) > 1 for row in rows)


def _read_picture(
    media: Media,
    limits: DecodeLimits,
    ocr: Ocr,
) -> list[str]:
    if ocr == "none":
        raise NoOcrError(f"{media.label}: {NO_OCR}")
    from mmeval.metrics.document.ocr import read_words

    return joined_lines(read_words(image(media, limits=limits)))


def _pdf_blocks(
    media: Media,
    limits: DecodeLimits,
    ocr: Ocr,
) -> Iterator[Block]:
    """Yields the blocks of each page.

    OCR reads the first few pages without a text layer.
    """
    # The text layers of all used pages are read before any picture, since OCR takes
    # longer than the time limit of decoding.
    layers: list[tuple[TextBox, ...]] = []
    count = 0
    for boxes in page_boxes(media, limits=limits):
        layers.append(boxes)
        count += sum(len(box.text) for box in boxes)
        if count > MAX_CHARS:
            break
    drawn = 0
    for number, boxes in enumerate(layers):
        if boxes:
            yield from blocks_of(joined_lines(boxes))
        elif drawn < MAX_PAGES_READ:
            drawn += 1
            if ocr == "none":
                raise NoOcrError(
                    f"{media.label}: page {number + 1} is a picture, and {NO_OCR}"
                )
            from mmeval.metrics.document.ocr import read_words

            words: list[TextBox] = []
            for page in pages(media, dpi=OCR_DPI, numbers=[number], limits=limits):
                words += read_words(page)
            yield from blocks_of(joined_lines(words))


def _enough(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yields blocks until they contain more than ``MAX_CHARS`` characters."""
    count = 0
    for block in blocks:
        yield block
        if isinstance(block, str):
            count += len(block)
        else:
            count += sum(map(len, chain.from_iterable(block.rows)))
        if count > MAX_CHARS:
            return
