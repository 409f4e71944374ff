"""Decodes documents.

The pages of a PDF become pictures. The text of PDF, office and text files can also be
read. All files except text files are read in the decoding process.
"""

from __future__ import annotations

import codecs
import contextlib
import json
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from mmeval.errors import CorruptMediaError, UnsupportedMediaError
from mmeval.media.decode.apart import Step, steps_apart
from mmeval.media.decode.guard import decoding, not_read, whole_bytes
from mmeval.media.decode.limits import DEFAULT_LIMITS, Clock, DecodeLimits, within
from mmeval.media.decode.memo import decoded_once
from mmeval.media.decode.office.read import OFFICE, office_text
from mmeval.media.media import Media
from mmeval.media.media_type import TEXT_MIMES

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_BYTES_A_CHAR = 4
_MOST_PIECES = 1500
"""The maximum number of text fragments on a page for which positions are computed.

The computing time grows with the square of this number.
"""


class TextBox(NamedTuple):
    """A text and the box that it occupies on a page.

    The edges are distances from the upper left corner, in any unit.
    """

    left: float
    top: float
    right: float
    bottom: float
    text: str


def pages(
    media: Media,
    *,
    dpi: float = 144.0,
    numbers: Sequence[int] | None = None,
    limits: DecodeLimits = DEFAULT_LIMITS,
) -> Iterator[Image]:
    """Yields the pages of a PDF as RGB pictures.

    ``numbers`` are the page numbers, from 0. By default all pages are drawn. Raises the
    errors of this package.
    """
    import PIL.Image

    page_stream = _steps("page_steps", media, limits, scale=dpi / 72.0, numbers=numbers)
    with contextlib.closing(page_stream) as steps:
        for step in steps:
            facts = step.facts
            yield PIL.Image.frombytes(
                "RGB",
                facts["size"],
                step.buffers[0],
                "raw",
                facts["layout"],
                facts["stride"],
                1,
            )


def _kept_size(text: str) -> int:
    return sys.getsizeof(text)


@decoded_once(size=_kept_size)
def document_text(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> str:
    """Returns the text of a document, decoded once.

    For a PDF it is the text layer, with pages joined by line breaks. The text layer is
    empty if the PDF contains text only in pictures. For an office document (docx, pptx,
    xlsx, xls, ods), the result is its text. A text file is returned unchanged. Raises
    the errors of this package.
    """
    if media.mime == "application/pdf":
        return _pdf_text(media, limits)
    if media.mime in OFFICE:
        return office_text(media, limits=limits)
    text = _plain_text(media, limits)
    within(media, "max_text_chars", limits.max_text_chars, len(text), "characters")
    return text


def document_start(
    media: Media, chars: int, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> tuple[str, bool]:
    """Returns the first ``chars`` characters of a document's text.

    Also returns True if more text follows.

    The rest of the document is not read, so a document that exceeds the limits is
    allowed. Raises the errors of this package.
    """
    if media.mime == "application/pdf":
        text = _pdf_text(media, replace(limits, max_pages=sys.maxsize), chars)
    elif media.mime in OFFICE:
        unlimited = replace(limits, max_text_chars=sys.maxsize)
        text = office_text(media, limits=unlimited, chars=chars)
    else:
        text = _plain_text(media, limits, chars)
    return text[:chars], len(text) > chars


def page_boxes(
    media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS
) -> Iterator[tuple[TextBox, ...]]:
    """Yields the fragments of text on each page of a PDF.

    The positions of the fragments are given in points.

    If a page has too many fragments, its lines are returned as boxes one below the
    other instead. The tuple is empty for a page that consists only of a picture. Raises
    the errors of this package.
    """
    with contextlib.closing(_steps("box_steps", media, limits)) as steps:
        for step in steps:
            yield tuple(TextBox(*box) for box in json.loads(step.buffers[0]))


def page_count(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> int:
    """Returns the number of pages of a PDF, without drawing.

    Raises this package's errors.
    """
    with contextlib.closing(_steps("count_steps", media, limits)) as steps:
        return int(next(steps).facts["pages"])


def _plain_text(
    media: Media,
    limits: DecodeLimits,
    chars: int | None = None,
) -> str:
    """Returns the content of a text file, or at least its first ``chars`` + 1
    characters."""
    if not media.mime.startswith(TEXT_MIMES):
        raise not_read(media, ["document"], "from which no text is read")
    with decoding(media, "text"):
        data = whole_bytes(media, limits)
        start = data
        if chars is not None:
            start = data[: _MOST_BYTES_A_CHAR * (chars + 2)]
        is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
        encoding = "utf-16" if is_wide else "utf-8-sig"
        decoder = codecs.getincrementaldecoder(encoding)()
        return decoder.decode(start, final=len(start) == len(data))


def _steps(
    decoder: str, media: Media, limits: DecodeLimits, **options: Any
) -> Generator[Step, None, None]:
    """Yields the steps of a decoder of this module, within the time limit."""
    data = whole_bytes(media, limits)
    if media.mime != "application/pdf":
        raise not_read(media, ["document"], "not a PDF")
    clock = Clock(media, limits)
    name = f"mmeval.media.decode.document:{decoder}"
    with contextlib.closing(steps_apart(name, media, data, limits, **options)) as steps:
        for step in steps:
            clock.check()
            yield step


def _pdf_text(
    media: Media,
    limits: DecodeLimits,
    chars: int | None = None,
) -> str:
    words: list[str] = []
    count = 0
    with contextlib.closing(_steps("text_steps", media, limits)) as steps:
        for step in steps:
            words.append(step.buffers[0].decode("utf-8", "surrogatepass"))
            count += len(words[-1])
            if chars is not None and count > chars:
                break
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
    return "\n".join(words)


def box_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """Yields one step per page, with the fragments of its text as JSON.

    Runs in the decoding process.
    """
    return (
        _boxes(media, document, number, limits)
        for document, number in _pages(media, limits)
    )


def count_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """Returns one step: the number of pages. Runs in the decoding process."""
    return (
        Step({"pages": len(document)})
        for document, number in _pages(media, limits)
        if not number
    )


def page_steps(
    media: Media,
    limits: DecodeLimits,
    *,
    scale: float,
    numbers: Sequence[int] | None = None,
) -> Iterator[Step]:
    """Returns a step per page: its pixels, row by row.

    Runs in the decoding process.
    """
    return (
        _rendered(media, document, number, scale, limits)
        for document, number in _pages(media, limits)
        if numbers is None or number in numbers
    )


def text_steps(media: Media, limits: DecodeLimits) -> Iterator[Step]:
    """Returns a step per page: its text. Runs in the decoding process."""
    return (_words(document, number) for document, number in _pages(media, limits))


def _pages(media: Media, limits: DecodeLimits) -> Iterator[tuple[Any, int]]:
    """Returns an iterator over the opened PDF with each page's number.

    The time for the import does not count for a step, so it is not limited.
    """

    import pypdfium2
    from pypdfium2 import raw

    def opened() -> Iterator[tuple[Any, int]]:
        locked = (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY)
        try:
            pdf = pypdfium2.PdfDocument(media.read())
        except pypdfium2.PdfiumError:
            if raw.FPDF_GetLastError() in locked:
                raise UnsupportedMediaError(
                    f"{media.label}: it is encrypted, and the password is unknown"
                ) from None
            raise
        with contextlib.closing(pdf) as document:
            within(media, "max_pages", limits.max_pages, len(document), "pages")
            if not len(document):
                raise CorruptMediaError(f"{media.label}: it has no pages")
            for number in range(len(document)):
                yield document, number

    return opened()


def _rendered(
    media: Media, document: Any, number: int, scale: float, limits: DecodeLimits
) -> Step:
    with (
        decoding(media, f"page {number + 1}"),
        contextlib.closing(document[number]) as page,
    ):
        width, height = page.get_size()
        pixels = width * scale * height * scale
        most = limits.max_drawn_pixels
        within(media, "max_drawn_pixels", most, pixels, "pixels")
        with contextlib.closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
            facts = {
                "size": (bitmap.width, bitmap.height),
                "stride": bitmap.stride,
                "layout": {3: "RGB", 4: "RGBX"}[bitmap.n_channels],
            }
            return Step(facts, (bytes(bitmap.buffer),))


def _words(document: Any, number: int) -> Step:
    with (
        contextlib.closing(document[number]) as page,
        contextlib.closing(page.get_textpage()) as text,
    ):
        return Step({}, (text.get_text_bounded().encode("utf-8", "surrogatepass"),))


def _boxes(
    media: Media,
    document: Any,
    number: int,
    limits: DecodeLimits,
) -> Step:
    with (
        contextlib.closing(document[number]) as page,
        contextlib.closing(page.get_textpage()) as text,
    ):
        count = text.count_chars()
        most = limits.max_text_chars
        within(media, "max_text_chars", most, count, "characters on a page")
        pieces = text.count_rects()
        text_boxes: list[TextBox] = []
        if pieces > _MOST_PIECES:
            # Positions would take too long, so lines are placed one below the other.
            for index, line in enumerate(text.get_text_bounded().splitlines()):
                words = " ".join(line.split())
                if words:
                    text_boxes.append(TextBox(0, index, 1, index + 1, words))
            return Step({}, (json.dumps(text_boxes).encode("ascii"),))
        left, bottom, right, top = page.get_cropbox()
        size = (right - left, top - bottom)
        turns = page.get_rotation() // 90
        for index in range(pieces):
            x1, y1, x2, y2 = text.get_rect(index)
            words = " ".join(text.get_text_bounded(x1, y1, x2, y2).split())
            if words:
                inside = (x1 - left, y1 - bottom, x2 - left, y2 - bottom)
                text_boxes.append(TextBox(*_upright(inside, size, turns), words))
        return Step({}, (json.dumps(text_boxes).encode("ascii"),))


def _upright(
    box: tuple[float, float, float, float],
    size: tuple[float, float],
    turns: int,
) -> tuple[float, float, float, float]:
    """Returns the box of a page after clockwise quarter turns.

    ``box`` is (left, bottom, right, top), measured from the lower left corner. The
    result is (left, top, right, bottom), measured from the upper left corner.
    """
    (left, bottom, right, top), (width, height) = box, size
    return (
        (left, height - top, right, height - bottom),
        (bottom, left, top, right),
        (width - right, bottom, width - left, top),
        (height - top, width - right, height - bottom, width - left),
    )[turns % 4]
