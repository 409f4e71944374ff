"""Documents: the pages of a PDF as pictures, and the words of a PDF or a text file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mmeval.decode.guard import decoding, quiet, whole_bytes
from mmeval.decode.limits import DEFAULT_LIMITS, Clock, DecodeLimits, within
from mmeval.decode.memo import decoded_once
from mmeval.errors import CorruptMediaError, MmevalError
from mmeval.extras import need
from mmeval.media import Media

if TYPE_CHECKING:
    from PIL.Image import Image

_TEXT_MIMES = ("text/", "application/json", "model/obj", "model/mtl", "image/svg+xml")


def pages(media: Media, *, dpi: float = 144.0, limits: DecodeLimits = DEFAULT_LIMITS) -> Iterator[Image]:
    """The pages of a PDF as RGB pictures, one at a time. Raises the errors of this package."""
    pdfium = need("pypdfium2", "doc")
    need("PIL.Image", "image")
    clock = Clock(media, limits)
    document = _pdf(media, pdfium, limits)
    try:
        for number in range(len(document)):
            clock.check()
            with decoding(media, f"page {number + 1}"), quiet():
                picture = _rendered(media, document, number, dpi / 72.0, limits)
            yield picture
    finally:
        document.close()


@decoded_once(size=sys.getsizeof)
def document_text(media: Media, *, limits: DecodeLimits = DEFAULT_LIMITS) -> str:
    """The words of a document: a PDF's text layer, pages joined by line breaks, or a text file as it is.

    Empty where a PDF has pictures of text only. Decoded once. Raises the errors of this package.
    """
    if media.mime == "application/pdf":
        return _pdf_text(media, limits)
    if not media.mime.startswith(_TEXT_MIMES):
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, from which no text is read")
    with decoding(media, "text"):
        data = whole_bytes(media, limits)
        encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
        text = data.decode(encoding)
        within(media, "max_text_chars", limits.max_text_chars, len(text), "characters")
        return text


def _pdf(media: Media, pdfium: Any, limits: DecodeLimits) -> Any:
    """An opened PDF (untyped: the package is optional); the caller closes it."""
    data = whole_bytes(media, limits)
    if media.mime != "application/pdf":
        raise CorruptMediaError(f"{media.label}: it is {media.mime}, not a PDF")
    with decoding(media, "a PDF"), quiet():
        document = pdfium.PdfDocument(data)
        try:
            within(media, "max_pages", limits.max_pages, len(document), "pages")
            if not len(document):
                raise CorruptMediaError(f"{media.label}: it has no pages")
        except MmevalError:
            document.close()
            raise
        return document


def _rendered(media: Media, document: Any, number: int, scale: float, limits: DecodeLimits) -> Image:
    with contextlib.closing(document[number]) as page:
        width, height = page.get_size()
        within(media, "max_pixels", limits.max_pixels, width * scale * height * scale, "pixels")
        with contextlib.closing(page.render(scale=scale)) as bitmap:
            picture: Image = bitmap.to_pil().convert("RGB")
            return picture.copy()


def _pdf_text(media: Media, limits: DecodeLimits) -> str:
    pdfium = need("pypdfium2", "doc")
    clock = Clock(media, limits)
    words: list[str] = []
    count = 0
    with contextlib.closing(_pdf(media, pdfium, limits)) as document, decoding(media, "text"), quiet():
        for number in range(len(document)):
            clock.check()
            with contextlib.closing(document[number]) as page, contextlib.closing(page.get_textpage()) as text:
                words.append(text.get_text_bounded())
            count += len(words[-1])
            within(media, "max_text_chars", limits.max_text_chars, count, "characters")
    return "\n".join(words)
