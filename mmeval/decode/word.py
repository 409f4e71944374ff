"""Word documents (docx): their words, read apart."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import iterparse

from mmeval.decode.apart import Step, steps_apart
from mmeval.decode.guard import decoding, whole_bytes
from mmeval.decode.limits import DecodeLimits, within
from mmeval.errors import CorruptMediaError
from mmeval.media import Media

WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
"""The MIME type."""
_BODY = "word/document.xml"
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_WRITTEN = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n"}
_XML_BYTES_A_CHAR = 40
"""More markup than this around each allowed character is no document."""
_BLOCK_CHARS = 1 << 20


def word_text(media: Media, *, limits: DecodeLimits, chars: int | None = None) -> str:
    """The words in their order: a line for each paragraph, cells of a table row with a tab after each.

    Where ``chars`` are given, a little more than so many at most. Headers, footnotes and comments are left out. Raises
    the errors of this package.
    """
    data = whole_bytes(media, limits)
    words: list[str] = []
    count = 0
    with contextlib.closing(steps_apart("mmeval.decode.word:word_steps", media, data, limits)) as steps:
        for step in steps:
            words.append(step.buffers[0].decode("utf-8", "surrogatepass"))
            count += len(words[-1])
            if chars is not None and count > chars:
                break
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
    return "".join(words)


def word_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """A step for each megabyte of words, or a little more. Runs apart."""
    return _steps(media, limits)


def _steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    words: list[str] = []
    count = 0
    with decoding(media, "a Word document"):
        for piece in _pieces(media, limits):
            words.append(piece)
            count += len(piece)
            if count >= _BLOCK_CHARS:
                yield _step(words)
                words, count = [], 0
        yield _step(words)


def _step(words: list[str]) -> Step:
    return Step({}, ("".join(words).encode("utf-8", "surrogatepass"),))


def _pieces(media: Media, limits: DecodeLimits) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(media.read())) as archive:
        try:
            entry = archive.getinfo(_BODY)
        except KeyError:
            raise CorruptMediaError(f"{media.label}: it is no Word document ({_BODY} is not in it)") from None
        within(media, "max_text_chars", limits.max_text_chars * _XML_BYTES_A_CHAR, entry.file_size, "bytes of markup")
        with archive.open(entry) as body:
            for _, element in iterparse(body):
                if element.tag == f"{_W}t":
                    yield element.text or ""
                elif element.tag in (f"{_W}p", f"{_W}tc"):
                    yield "\n" if element.tag == f"{_W}p" else "\t"
                    element.clear()
                else:
                    yield _WRITTEN.get(element.tag, "")
