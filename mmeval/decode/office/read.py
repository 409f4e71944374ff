"""Decodes office documents (docx, xlsx, pptx): paragraphs and tables in order."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from mmeval.content.media import Media
from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.guard import decoding, whole_bytes
from mmeval.decode.limits import DEFAULT_LIMITS, Clock, DecodeLimits, within
from mmeval.decode.office.sheets import sheet_blocks
from mmeval.decode.office.text import Entries, body_blocks, slide_blocks
from mmeval.errors import CorruptMediaError

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
SHEETS = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
SLIDES = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
_READERS: Mapping[str, tuple[str, Callable[[Entries], Iterator[list[Any]]]]] = {
    WORD: ("a Word document", body_blocks),
    SHEETS: ("a workbook", sheet_blocks),
    SLIDES: ("a presentation", slide_blocks),
}
OFFICE = tuple(_READERS)
"""The MIME types that are read."""
_XML_BYTES_A_CHAR = 40
"""More markup than this around each allowed character is no document."""
_BLOCK_CHARS = 1 << 18
_MARKUP_CHARS = 4
"""The least count of a cell or a paragraph, so that empty ones have a limit too."""


@dataclass(frozen=True, slots=True)
class OfficeTable:
    """Rows of cells, each as it is displayed."""

    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = str | OfficeTable
"""A paragraph (a heading, the name of a sheet) or a table."""


def office_blocks(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> Generator[Block, None, None]:
    """The paragraphs and tables of an office document in order, lazily.

    They are the body of a Word document, each sheet of a workbook after its name, or each slide of a presentation.

    A long table may come in several. Comments, notes, headers and charts are left out. Raises the errors of this
    package.
    """
    if media.mime not in _READERS:
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, which is no office document that is read")
    data = whole_bytes(media, limits)
    clock = Clock(media, limits)
    with contextlib.closing(steps_apart("mmeval.decode.office.read:block_steps", media, data, limits)) as steps:
        for step in steps:
            clock.check()
            for block in json.loads(step.buffers[0]):
                yield block[0] if len(block) == 1 else OfficeTable(tuple(tuple(row) for row in block[1]))


def office_text(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS, chars: int | None = None) -> str:
    """The words in order: a line for each paragraph and row, a tab between cells.

    Where ``chars`` are given, a little more than so many at most. Raises the errors of this package.
    """
    words: list[str] = []
    count = 0
    with contextlib.closing(office_blocks(media, limits=limits)) as blocks:
        for block in blocks:
            lines = [block] if isinstance(block, str) else ["\t".join(row) for row in block.rows]
            words += [f"{line}\n" for line in lines]
            count += sum(len(line) + 1 for line in lines)
            if chars is not None and count > chars:
                break
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
    return "".join(words)


def block_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """A step for each quarter of a megabyte of blocks. Runs in the decoding process."""
    what, read = _READERS[media.mime]
    blocks: list[list[Any]] = []
    count = sent = 0
    with decoding(media, what), zipfile.ZipFile(io.BytesIO(media.read())) as archive:
        most = limits.max_text_chars * _XML_BYTES_A_CHAR
        for block in read(Entries(archive, check=lambda size: within(media, "max_text_chars", most, size, "bytes"))):
            blocks.append(block)
            count += _chars(block)
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
            if count - sent >= _BLOCK_CHARS:
                yield _step(blocks)
                blocks, sent = [], count
        yield _step(blocks)


def _chars(block: list[Any]) -> int:
    if len(block) == 1:
        return len(block[0]) + _MARKUP_CHARS
    return sum(len(cell) + _MARKUP_CHARS for row in block[1] for cell in row) + _MARKUP_CHARS * len(block[1])


def _step(blocks: list[list[Any]]) -> Step:
    return Step({}, (json.dumps(blocks).encode("ascii"),))
