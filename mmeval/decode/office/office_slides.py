"""Presentations (pptx): the paragraphs and tables of their slides, in the order in which these are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import iterparse

from mmeval.decode.office.text import OF_ENTRY, Entries, flow

_PRESENTATION = "ppt/presentation.xml"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}sldId"
_DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


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
