"""Converts documents to Markdown for a judge, in a thread, before a call is sent."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Literal, cast

from mmeval.errors import CorruptMediaError
from mmeval.media import Media, Part, text_part
from mmeval.media.decode import DecodeLimits
from mmeval.metrics.document.hints import hints_of
from mmeval.metrics.document.reading import (
    MAX_CHARS,
    Ocr,
    document_markdown,
    picture_markdown,
)
from mmeval.program import Route

Extraction = Literal["by_type", "pictures"]
"""How a document is converted to Markdown: ``by_type`` chooses the conversion by the
document's type, and ``pictures`` reads only pictures, as in the release."""
NO_WORDS = "it has no words that can be read"
_MOST_NOTED_CHARS = 300
_VERSION = 2
"""The version of the Markdown. The version must be raised whenever a change could alter
a verdict."""


@lru_cache(maxsize=16)
def markdown_route(
    extraction: Extraction,
    ocr: Ocr,
    *,
    hints: bool,
) -> Route:
    """Returns the route that converts documents to Markdown.

    The route is also used for a judge that accepts documents.
    """
    options: list[str] = [extraction]
    if ocr != "none":
        options.append(ocr)
    if hints:
        options.append("hints")
    return Route(
        "document",
        "text",
        partial(_markdown, extraction=extraction, ocr=ocr, hints=hints),
        version=_VERSION,
        due=lambda _media, _limits: True,
        items=MAX_CHARS,
        name=f"document->markdown({', '.join(options)})",
    )


def _markdown(
    media: Media, limits: DecodeLimits, *, extraction: Extraction, ocr: Ocr, hints: bool
) -> tuple[list[Part], str]:
    key = ("markdown", extraction, ocr, limits)
    if key not in media.memo:
        if extraction == "by_type":
            media.memo[key] = document_markdown(media, limits, ocr=ocr)
        else:
            media.memo[key] = picture_markdown(media, limits)
    markdown = cast(str, media.memo[key])
    if extraction == "by_type" and not markdown:
        raise CorruptMediaError(f"{media.label}: {NO_WORDS}")
    used = markdown[:MAX_CHARS]
    words, remarks = used, [f"{len(used):,} characters of Markdown"]
    if len(used) < len(markdown):
        remarks = [f"the first {len(used):,} characters of its Markdown"]
    if hints:
        noticed = f"Hints: {hints_of(used)}"
        words = f"{used}\n\n{noticed}"
        remarks.append(noticed.lower())
    beginning = " ".join(used[:_MOST_NOTED_CHARS].split())
    if beginning:
        remarks.append(f"it begins {beginning!r}")
    return [text_part(words)], f"{'; '.join(remarks)};"
