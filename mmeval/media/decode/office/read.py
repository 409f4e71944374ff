"""Decodes office documents (docx, xlsx, xls, ods, pptx): paragraphs and tables."""

from __future__ import annotations

import contextlib
import io
import json
import re
import zipfile
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias

from mmeval.media.decode.apart import Step, steps_apart
from mmeval.media.decode.guard import decoding, not_read, whole_bytes
from mmeval.media.decode.limits import DEFAULT_LIMITS, Clock, DecodeLimits, within
from mmeval.media.media import Media
from mmeval.media.zip_type import DOCX, ODS, PPTX, XLSX

SHEETS = (XLSX, ODS, "application/vnd.ms-excel")
_READERS: Mapping[str, tuple[str, str]] = {
    DOCX: ("a Word document", "body_blocks"),
    PPTX: ("a presentation", "slide_blocks"),
    **dict.fromkeys(SHEETS, ("a workbook", "sheet_blocks")),
}
OFFICE = tuple(_READERS)
"""The MIME types that can be read."""
_LOCKED = 1
"""The flag of an encrypted zip entry."""
_MANIFEST = "META-INF/manifest.xml"
_LOCKED_BOOK = re.compile(
    rb"\x09\x08(?:\x10\0\0\x06\x05\0.{12}|\x08\0\0\x05\x05\0.{4})(?:\x86\0\0\0)?"
    rb"\x2f\0",
    re.DOTALL,
)
"""The start of the content of an old encrypted workbook."""
_BLOCK_CHARS = 1 << 18
_MARKUP_CHARS = 4
"""The number of characters that are added to the length of each cell or paragraph. This
also limits the number of empty cells."""


@dataclass(frozen=True, slots=True)
class OfficeTable:
    """A table as rows of cells."""

    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = str | OfficeTable
"""A paragraph (a heading, the name of a sheet) or a table."""


def office_blocks(
    media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> Generator[Block, None, None]:
    """Yields the paragraphs and tables of an office document in order.

    The blocks come from the body of a Word document, the slides of a presentation, or
    the sheets of a workbook. The name of a sheet comes before its rows. Numbers in a
    workbook are returned as stored, without their number formats. A cell with an error
    is empty.

    A long table may be split. Comments, notes, headers and charts are left out. Raises
    the errors of this package.
    """
    if media.mime not in _READERS:
        raise not_read(media, ["document"], "which is not read as an office document")
    data = whole_bytes(media, limits)
    clock = Clock(media, limits)
    with contextlib.closing(
        steps_apart("mmeval.media.decode.office.read:block_steps", media, data, limits)
    ) as steps:
        for step in steps:
            clock.check()
            for text, *tables in json.loads(step.buffers[0]):
                if not tables:
                    yield text
                for rows in tables:
                    yield OfficeTable(tuple(tuple(row) for row in rows))


def office_text(
    media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS, chars: int | None = None
) -> str:
    """Returns the text of an office document in order.

    Each paragraph and row is a line, with tabs between cells.

    With ``chars``, reading stops soon after this number of characters. Raises the
    errors of this package.
    """
    words: list[str] = []
    count = 0
    with contextlib.closing(office_blocks(media, limits=limits)) as blocks:
        for block in blocks:
            if isinstance(block, str):
                lines = f"{block}\n"
            else:
                lines = "".join("\t".join(row) + "\n" for row in block.rows)
            words.append(lines)
            count += len(lines)
            if chars is not None and count > chars:
                break
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
    return "".join(words)


def block_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """Yields one step for every 256 KiB of blocks. Runs in the decoding process."""
    from mmeval.media.decode.office import blocks

    form, reader = _READERS[media.mime]
    return _steps(media, limits, form, getattr(blocks, reader))


def _steps(
    media: Media,
    limits: DecodeLimits,
    form: str,
    read: Callable[[BinaryIO], Iterator[list[Any]]],
) -> Iterator[Step]:
    blocks: list[list[Any]] = []
    count = sent = 0
    with decoding(media, form):
        data = media.read()
        if data.startswith(b"PK"):
            is_locked = _checked_entries(media, limits, data)
        else:
            is_locked = _LOCKED_BOOK.search(data) is not None
        # Checked here, because calamine reports an encrypted workbook as unknown.
        if is_locked:
            raise NotImplementedError("it is encrypted, and the password is unknown")
        for block in read(io.BytesIO(data)):
            blocks.append(block)
            text, *tables = block
            if not tables:
                count += len(text) + _MARKUP_CHARS
            for rows in tables:
                for row in rows:
                    cells = sum(len(cell) + _MARKUP_CHARS for cell in row)
                    count += cells + _MARKUP_CHARS
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
            if count - sent >= _BLOCK_CHARS:
                yield _step(blocks)
                blocks, sent = [], count
        yield _step(blocks)


def _checked_entries(
    media: Media,
    limits: DecodeLimits,
    data: bytes,
) -> bool:
    """Checks the declared sizes of a zip's entries before a library opens it.

    Returns True if the document is encrypted.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        within(media, "max_bytes", limits.max_bytes, unpacked, "bytes, unpacked,")
        if any(entry.flag_bits & _LOCKED for entry in entries):
            return True
        damaged = archive.testzip()
        if damaged:
            raise ValueError(f"its entry {damaged} is damaged")
        has_manifest = _MANIFEST in archive.namelist()
        return has_manifest and b"encryption-data" in archive.read(_MANIFEST)


def _step(blocks: list[list[Any]]) -> Step:
    return Step({}, (json.dumps(blocks).encode("ascii"),))
