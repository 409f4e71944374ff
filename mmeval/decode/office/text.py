"""Reads Word documents and slides, and the entries of office files."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterator
from typing import IO, Any
from xml.etree.ElementTree import Element, iterparse

_BODY = "word/document.xml"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_PRESENTATION = "ppt/presentation.xml"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}sldId"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_OTHERWISE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
"""A repeated part of a drawing, for programs that cannot show the drawing."""
OF_ENTRY = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
"""The attribute by which markup names another entry."""
_WRITTEN = {"t": "", "tab": "\t", "br": "\n", "cr": "\n"}
"""Elements inside a paragraph, with the characters that they stand for; ``t`` for its own text."""
_ROWS_A_BLOCK = 1000


class Entries:
    """An office file's entries. ``check`` raises for more markup than documents have."""

    def __init__(self, archive: zipfile.ZipFile, check: Callable[[int], None]) -> None:
        self._archive, self._check = archive, check

    def __contains__(self, name: str) -> bool:
        return name in self._archive.NameToInfo

    def open(self, name: str) -> IO[bytes]:
        """Raises ValueError for an entry that is not there."""
        if name not in self:
            raise ValueError(f"{name} is not in it")
        self._check(self._archive.getinfo(name).file_size)
        return self._archive.open(name)

    def related(self, name: str) -> dict[str, str]:
        """The entries that one names, by its names for them."""
        folder, file = posixpath.split(name)
        relations = f"{folder}/_rels/{file}.rels"
        if relations not in self:
            return {}
        with self.open(relations) as source:
            found = [element for _, element in iterparse(source) if element.tag == _RELATIONS]
        return {
            element.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))[1:]
            for element in found
            if element.get("TargetMode") != "External"
        }


def body_blocks(entries: Entries) -> Iterator[list[Any]]:
    """The paragraphs and tables of a Word document: ``[text]``, or ``["", rows]``."""
    with entries.open(_BODY) as source:
        yield from flow(source, _WORD)


def slide_blocks(entries: Entries) -> Iterator[list[Any]]:
    """The paragraphs (``[text]``) and tables (``["", rows]``) of each slide."""
    related = entries.related(_PRESENTATION)
    with entries.open(_PRESENTATION) as source:
        shown = [element.get(OF_ENTRY, "") for _, element in iterparse(source) if element.tag == _SLIDE]
    for name in shown:
        if name not in related:
            raise ValueError("a slide of it is missing")
        with entries.open(related[name]) as source:
            yield from flow(source, _DRAWN)


def flow(source: IO[bytes], names: str) -> Iterator[list[Any]]:
    """The paragraphs and tables of the markup of Word documents and slides.

    The elements ``p``, ``t``, ``tbl``, ``tr`` and ``tc`` are in the namespace ``names``. A table inside a cell becomes
    words of that cell; a box of text in a paragraph, a paragraph before it.
    """
    text = _Text(names)
    for event, element in iterparse(source, events=("start", "end")):
        if event == "start":
            text.begins(element)
        elif (block := text.ends(element)) is not None:
            yield block


class _Text:
    """The open paragraphs and tables while the markup is read."""

    def __init__(self, names: str) -> None:
        self._names = names
        self._depth = 0
        self._passed_over = 0
        self._words: list[list[str]] = []  # of the paragraphs that are open, as one may stand in another
        self._cell: list[str] = []
        self._row: list[str] = []
        self._rows: list[list[str]] = []

    def begins(self, element: Element) -> None:
        if element.tag == _OTHERWISE:
            self._passed_over += 1
        elif self._passed_over:
            return
        elif element.tag == f"{self._names}tbl":
            self._depth += 1
        elif element.tag == f"{self._names}p":
            self._words.append([])

    def ends(self, element: Element) -> list[Any] | None:
        """The block that is complete at the end of this element, if any."""
        if element.tag == _OTHERWISE:
            self._passed_over -= 1
        if self._passed_over or not element.tag.startswith(self._names):
            return None
        tag = element.tag[len(self._names) :]
        if tag in _WRITTEN:
            if self._words:
                self._words[-1].append(_WRITTEN[tag] or element.text or "")
        elif tag == "p":
            element.clear()
            return self._paragraph()
        elif tag == "tbl":
            self._depth -= 1
            return self._table() if not self._depth else None
        elif self._depth == 1 and tag == "tc":
            self._row.append(" ".join(" ".join(self._cell).split()))
            self._cell = []
        elif self._depth == 1 and tag == "tr":
            element.clear()
            self._rows.append(self._row)
            self._row = []
            return self._table() if len(self._rows) >= _ROWS_A_BLOCK else None
        return None

    def _paragraph(self) -> list[Any] | None:
        text = "".join(self._words.pop()).strip()
        if self._depth:
            self._cell.append(text)
            return None
        return [text] if text else None

    def _table(self) -> list[Any] | None:
        rows, self._rows = self._rows, []
        return ["", rows] if any(any(row) for row in rows) else None
